/** The rollout of an upgrade over the nodes: one canary, then batches, with a verification between each two. */

import { z } from "zod";
import type { Finding } from "./finding.ts";
import { didYouMean } from "./suggest.ts";

/** Label on every node that says in which stage of the rollout it is upgraded. */
export const STAGE_LABEL = "upgrade.labhub.io/stage";

export interface RolloutStage {
  /** `canary`, `batch1`, `batch2`, … */
  readonly stage: string;
  readonly nodes: readonly string[];
}

/** The shape of `rollout.json`. */
export interface Rollout {
  readonly stages: readonly RolloutStage[];
  /** What must hold after a stage before the next one starts. */
  readonly verify_between_stages: readonly string[];
}

export interface RolloutNode {
  readonly name: string;
  readonly controlPlane: boolean;
}

export interface RolloutOptions {
  /** The canary's name; else the first node in the default order. */
  readonly canary?: string;
  /** Nodes in batch1, batch2, …; a last batch takes what is left over. Not together with `lists`. */
  readonly sizes?: readonly number[];
  /** Names in batch1, batch2, …; not checked here, {@link checkRollout} does. Needs `canary`. */
  readonly lists?: readonly (readonly string[])[];
  readonly verify?: readonly string[];
}

/** Thrown by {@link planRollout} for options that lead to no rollout at all. */
export class RolloutError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "RolloutError";
  }
}

export const DEFAULT_VERIFICATION: readonly string[] = [
  "every node of the stage is Ready and schedulable and its kubelet reports the target version",
  "every API server answers /readyz with ok",
  "every Deployment and StatefulSet has as many Ready replicas as before the stage",
  "no PodDisruptionBudget has fewer healthy pods than it wants",
];

/** By name, digits as numbers (node-2 before node-10): the same on every machine, whatever its locale. */
export function compareNames(a: string, b: string): number {
  const left = a.match(/[0-9]+|[^0-9]+/g) ?? [];
  const right = b.match(/[0-9]+|[^0-9]+/g) ?? [];
  for (let index = 0; index < Math.min(left.length, right.length); index++) {
    const x = left[index] ?? "";
    const y = right[index] ?? "";
    const numbers = /^[0-9]/.test(x) && /^[0-9]/.test(y);
    const difference = numbers ? Number(x) - Number(y) : 0;
    if (difference !== 0) return difference;
    if (!numbers && x !== y) return x < y ? -1 : 1;
  }
  return left.length - right.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** Control plane first (no kubelet may be newer than an API server), then by name. */
export function rolloutOrder(nodes: readonly RolloutNode[]): string[] {
  return [...nodes]
    .sort((a, b) => Number(b.controlPlane) - Number(a.controlPlane) || compareNames(a.name, b.name))
    .map(({ name }) => name);
}

/**
 * Without options: the first node in {@link rolloutOrder} is the canary, a quarter of the others (rounded up) is batch1,
 * the rest batch2. Three nodes come out as one each; one or two nodes leave out the batches that would be empty.
 * The order in which nodes are given makes no difference.
 * @throws RolloutError without nodes, for an unknown canary, sizes that are not whole numbers above 0 or that add up to
 * more than there is, and for `lists` with `sizes` or without `canary`.
 */
export function planRollout(nodes: readonly RolloutNode[], options: RolloutOptions = {}): Rollout {
  const order = rolloutOrder(nodes);
  const canary = options.canary ?? order[0];
  if (canary === undefined) throw new RolloutError("a rollout needs at least one node, and there is none");
  if (options.lists === undefined && !order.includes(canary)) {
    throw new RolloutError(`the canary "${canary}" is no node of this cluster${didYouMean(canary, order)}`);
  }
  const batches = batchesOf(
    order.filter((name) => name !== canary),
    options,
  );
  return {
    stages: [
      { stage: "canary", nodes: [canary] },
      ...batches.map((names, index) => ({ stage: `batch${index + 1}`, nodes: names })),
    ],
    verify_between_stages: options.verify ?? DEFAULT_VERIFICATION,
  };
}

function batchesOf(rest: readonly string[], { sizes, lists, canary }: RolloutOptions): (readonly string[])[] {
  if (lists !== undefined) {
    if (sizes !== undefined) throw new RolloutError("give batches as sizes or as lists of names, not both");
    if (canary === undefined) throw new RolloutError("batches given by name need the canary by name too");
    return [...lists];
  }
  if (rest.length === 0) return [];
  const wanted = sizes ?? [Math.ceil(rest.length / 4)];
  if (wanted.some((size) => !Number.isInteger(size) || size < 1)) {
    throw new RolloutError(`batch sizes are whole numbers above 0, not ${wanted.join(", ")}`);
  }
  const total = wanted.reduce((sum, size) => sum + size, 0);
  if (total > rest.length) {
    throw new RolloutError(
      `the batch sizes add up to ${total}, but only ${rest.length} nodes follow the canary`,
    );
  }
  const batches: string[][] = [];
  let start = 0;
  for (const size of wanted) {
    batches.push(rest.slice(start, start + size));
    start += size;
  }
  return start < rest.length ? [...batches, rest.slice(start)] : batches;
}

const text = z.string().refine((value) => value.trim() !== "", "is blank");

/** What was read from a file: a single sentence will do for the verification. Other keys are left alone. */
const rolloutSchema = z.object({
  stages: z.array(z.object({ stage: z.string(), nodes: z.array(z.string()) })).min(1, "has no stage"),
  verify_between_stages: z.union([text, z.array(text).min(1, "is empty")], {
    error: "must say what is verified between two stages: a sentence, or a list of them",
  }),
});

/**
 * Everything wrong with a rollout (a parsed `rollout.json`, or one just planned) for these nodes: the first stage is
 * `canary` with exactly one node, then `batch1`, `batch2`, … in order, none empty; each node in exactly one.
 */
export function checkRollout(rollout: unknown, nodeNames: readonly string[]): Finding[] {
  const parsed = rolloutSchema.safeParse(rollout);
  if (!parsed.success) {
    return parsed.error.issues.map((issue) =>
      finding(
        "ROLLOUT-SHAPE",
        issue.path.map(String).join(".") || "rollout",
        issue.message,
        "write it as {stages: [{stage, nodes}], verify_between_stages: [...]}",
      ),
    );
  }
  const { stages } = parsed.data;
  return [...checkStages(stages), ...checkMembers(stages, nodeNames)];
}

function checkStages(stages: readonly RolloutStage[]): Finding[] {
  return stages.flatMap(({ stage, nodes }, index) => {
    const findings: Finding[] = [];
    const subject = `stages.${index}`;
    const expected = index === 0 ? "canary" : `batch${index}`;
    if (stage !== expected) {
      findings.push(
        finding(
          "ROLLOUT-NAME",
          `${subject}.stage`,
          `is "${stage}" where "${expected}" is due`,
          `name it "${expected}"`,
        ),
      );
    }
    if (index === 0 && nodes.length !== 1) {
      findings.push(
        finding(
          "ROLLOUT-CANARY",
          `${subject}.nodes`,
          `the canary has ${nodes.length} nodes`,
          "name exactly one node: a canary of several puts more at risk than it has to",
        ),
      );
    } else if (nodes.length === 0) {
      findings.push(
        finding(
          "ROLLOUT-EMPTY",
          `${subject}.nodes`,
          `${stage} has no nodes`,
          "give it nodes, or leave it out",
        ),
      );
    }
    return findings;
  });
}

function checkMembers(stages: readonly RolloutStage[], nodeNames: readonly string[]): Finding[] {
  const known = new Set(nodeNames);
  const places = new Map<string, string[]>();
  for (const { stage, nodes } of stages) {
    for (const name of nodes) places.set(name, [...(places.get(name) ?? []), stage]);
  }
  const findings: Finding[] = [];
  for (const [name, where] of places) {
    if (!known.has(name)) {
      const missing = nodeNames.filter((node) => !places.has(node));
      findings.push(
        finding(
          "ROLLOUT-UNKNOWN",
          name,
          `${where.join(", ")} names a node that does not exist${didYouMean(name, missing)}`,
          "name nodes as kubectl get nodes shows them",
        ),
      );
    }
    if (where.length > 1) {
      findings.push(
        finding("ROLLOUT-REPEATED", name, `is in ${where.join(" and ")}`, "keep it in one stage only"),
      );
    }
  }
  for (const name of known) {
    if (!places.has(name)) {
      findings.push(
        finding(
          "ROLLOUT-MISSING",
          name,
          "is in no stage and would stay at its old version",
          "add it to a batch",
        ),
      );
    }
  }
  return findings;
}

function finding(code: string, subject: string, message: string, repair: string): Finding {
  return {
    code,
    severity: "refuse",
    subject,
    message,
    rule: "a rollout is canary (one node), batch1, batch2, …, every node in exactly one, verified in between",
    repair,
  };
}
