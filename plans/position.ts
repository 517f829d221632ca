/** The record of the stage last begun: whose it is, and what it says next. Pure. */
import type { Finding } from "../analysis/finding.ts";
import type { StageRecord } from "../analysis/stage-record.ts";
import type { CarriedFacts } from "./facts.ts";
import type { Position } from "./stage.ts";
import type { Transition } from "./transition.ts";

/** What the stack's own last outputs say. */
export interface OwnOutputs {
  readonly stage: string | null;
  /** Of the `up` that finished last. */
  readonly attempt: number | null;
  readonly facts: CarriedFacts | null;
}

export function positionOf(own: OwnOutputs, record: StageRecord | null): Position {
  const unfinished = record !== null && record.came === "back" && record.attempt !== own.attempt;
  return { applied: own.stage, begun: record?.stage ?? null, undoing: unfinished ? record.undone : [] };
}

/** One cluster, one stack, one plan. */
export function recordFindings(
  record: StageRecord | null,
  own: { readonly stack: string; readonly plan: string; readonly context: string },
): Finding[] {
  if (record === null || (record.stack === own.stack && record.plan === own.plan)) return [];
  return [
    {
      code: "CLUSTER-TAKEN",
      severity: "refuse",
      subject: "cluster-migration:cluster",
      message: `the cluster of context '${own.context}' is at stage '${record.stage}' of plan '${record.plan}' of stack ${record.stack}`,
      rule: "one stack works on a cluster at a time: its record is ConfigMap kube-system/cluster-migration",
      repair: `finish that plan, or end it there (\`pulumi destroy --stack ${record.stack}\`); or choose the context that was meant`,
    },
  ];
}

/** Somebody removed the record: the engine still believes in it and fails on it with few words. */
export function lostRecordFindings(own: OwnOutputs, record: StageRecord | null): Finding[] {
  if (own.stage === null || record !== null) return [];
  return [
    {
      code: "RECORD-LOST",
      severity: "warn",
      subject: "ConfigMap kube-system/cluster-migration",
      message: `is gone; by its own outputs the stack is at stage '${own.stage}'`,
      rule: "the record of the stage last begun stands from the first stage to the end",
      repair:
        "if the engine says that the ConfigMap is not found: pulumi refresh, then pulumi up makes it anew",
    },
  ];
}

/** The cluster is the one that the stack was begun on. */
export function clusterFindings(
  carried: CarriedFacts | null,
  live: CarriedFacts,
  context: string,
): Finding[] {
  if (carried === null || carried.clusterUid === live.clusterUid) return [];
  return [
    {
      code: "BOUND-CLUSTER",
      severity: "refuse",
      subject: "cluster-migration:cluster.context",
      message: `context '${context}' leads to cluster ${live.clusterUid}; this stack works on cluster ${carried.clusterUid}`,
      rule: "a stack is bound to the UID of its cluster's namespace kube-system",
      repair:
        "choose the context of this stack's cluster; for another cluster make another stack (`pulumi stack init`)",
    },
  ];
}

export function nextRecord({
  stack,
  plan,
  stage,
  transition,
  finished,
  live,
}: {
  readonly stack: string;
  readonly plan: string;
  readonly stage: string;
  readonly transition: Transition;
  /** Attempt of the `up` that finished last. */
  readonly finished: number | null;
  readonly live: StageRecord | null;
}): StageRecord {
  if (transition.kind === "settled" && live !== null) return live;
  // Above both, so that it is never one that was used: a record may have been deleted by hand.
  const attempt = Math.max(live?.attempt ?? 0, finished ?? 0) + 1;
  return {
    stack,
    plan,
    stage,
    came: transition.kind === "back" ? "back" : "forward",
    undone: transition.undo.map((one) => one.name),
    attempt,
    since: transition.resumes && live !== null ? live.since : attempt,
  };
}
