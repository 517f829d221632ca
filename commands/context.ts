/** What every command is given, and how it says no. */
import type { Finding } from "../analysis/finding.ts";
import type { Api } from "../cluster/api.ts";
import type { CommandDocument } from "./document.ts";
import type { z } from "zod";

export interface Context {
  readonly document: CommandDocument;
  /** What an earlier command printed that this one is bound to; null when there is none. */
  readonly input: unknown;
  readonly api: Api;
  /** Aborted when the engine, the user or a lost lock says stop. Long work looks at it between steps. */
  readonly signal: AbortSignal;
  /** One line for people, while it happens. */
  readonly progress: (line: string) => void;
  readonly now: () => Date;
  /** Writes an artefact below `out`, whole or not at all. Returns its path as the documents name it. */
  readonly artefact: (name: string, text: string) => Promise<string>;
  /** Path of a file or folder below `out`, its folder made. */
  readonly path: (...parts: string[]) => Promise<string>;
}

export interface Outcome {
  /** One sentence: what is true now. */
  readonly summary: string;
  /** What was looked at and seen: goes into the evidence. */
  readonly seen: Readonly<Record<string, unknown>>;
  /** Facts that later commands are bound to; they become outputs of the stack. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface CommandDefinition<Spec extends z.ZodType = z.ZodType> {
  readonly spec: Spec;
  /** Changes the cluster or a machine: runs under the lock, one at a time on a cluster. */
  readonly mutates: boolean;
  readonly run: (context: Context, spec: z.output<Spec>) => Promise<Outcome>;
}

/** Keeps the spec's type while the registry forgets it. */
export function defineCommand<Spec extends z.ZodType>(
  definition: CommandDefinition<Spec>,
): CommandDefinition {
  return definition;
}

/** A command says no: nothing (more) is changed. Carries all reasons, and what was seen, for the evidence. */
export class Refusal extends Error {
  readonly findings: readonly Finding[];
  readonly seen: Readonly<Record<string, unknown>>;
  constructor(summary: string, findings: readonly Finding[], seen: Readonly<Record<string, unknown>> = {}) {
    super(summary);
    this.name = "Refusal";
    this.findings = findings;
    this.seen = seen;
  }
}

/** Stopped from outside; what was done so far is in the evidence, and the same command goes on from there. */
export class Interrupted extends Error {
  constructor(reason: string) {
    super(`${reason}; run the same \`pulumi up\` again to go on from here`);
    this.name = "Interrupted";
  }
}

export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted)
    throw new Interrupted(signal.reason instanceof Error ? signal.reason.message : "stopped");
}

/** Waits, or throws Interrupted as soon as the signal fires. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  throwIfStopped(signal);
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    signal.addEventListener("abort", done, { once: true });
  });
  throwIfStopped(signal);
}
