/** What a condition looks at, and what it says. */
import type { z } from "zod";
import type { Finding } from "../finding.ts";
import type { Inventory } from "../inventory.ts";

export interface EtcdMemberFacts {
  readonly endpoint: string;
  readonly clusterId: string;
  readonly isLearner: boolean;
  readonly errors: readonly string[];
}

export interface Artefact {
  readonly text: string;
  /** Of YAML documents: what they parse to, or why they don't. */
  readonly yaml?:
    { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string };
}

export interface World {
  readonly inventory: Inventory;
  /** Artefacts by name; null where there is no such file. Undefined: not looked at. */
  readonly artefacts?: Readonly<Record<string, Artefact | null>>;
  /** One entry an endpoint that answered. Undefined: not looked at. */
  readonly etcd?: readonly EtcdMemberFacts[];
}

/** Returned by a condition that was not given what it has to look at. Never the same as "it holds". */
export const NOT_DECIDED = "not decided";

export type Judgement = readonly Finding[] | typeof NOT_DECIDED;

export interface Condition<Params extends z.ZodType = z.ZodType> {
  readonly params: Params;
  /** Empty: it holds. */
  readonly judge: (world: World, params: z.output<Params>) => Judgement;
}

export function condition<Params extends z.ZodType>(
  params: Params,
  judge: (world: World, params: z.output<Params>) => Judgement,
): Condition<Params> {
  return { params, judge };
}

export const quoteList = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(", ");
