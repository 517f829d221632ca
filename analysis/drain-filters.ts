/**
 * What a drain may do with each pod of a node: a chain of small filters, each with a behaviour and a reason.
 * There is no global force: a pod whose data or existence would be lost is let go by its own name only.
 */

import type { Finding } from "./finding.ts";
import type { PodFacts, WorkloadFacts } from "./inventory.ts";
import { Owners } from "./owners.ts";
import { didYouMean } from "./suggest.ts";

export type Behaviour = "evict" | "skip" | "refuse";

export interface PodDecision {
  readonly pod: PodFacts;
  readonly behaviour: Behaviour;
  /** For people, e.g. `has no controller and will not come back`. */
  readonly reason: string;
  /** Name of the filter that decided, e.g. `daemon-set`. */
  readonly by: string;
  /** The pod is not evicted, but the node is not empty before it is gone (it is terminating already). */
  readonly waitFor: boolean;
}

export interface DrainSettings {
  /** Pods, as `namespace/name`, whose loss of existence or of emptyDir data is accepted. */
  readonly acknowledged?: readonly string[];
  /** To see whether a pod's DaemonSet still exists; null when the workloads were not read. */
  readonly workloads: readonly WorkloadFacts[] | null;
}

export interface DrainBuckets {
  readonly evict: readonly PodDecision[];
  readonly skip: readonly PodDecision[];
  readonly refuse: readonly PodDecision[];
  /** Those of `skip` whose end is waited for. */
  readonly waitFor: readonly PodDecision[];
}

export const podKey = ({ namespace, name }: Pick<PodFacts, "namespace" | "name">): string =>
  `${namespace}/${name}`;

/** A stop ends the chain; objections are collected, so that one acknowledgement is given knowing all of them. */
type Verdict =
  | {
      readonly kind: "stop";
      readonly behaviour: Behaviour;
      readonly reason: string;
      readonly waitFor?: boolean;
    }
  | { readonly kind: "object"; readonly reason: string }
  | null;

interface Filter {
  readonly name: string;
  readonly judge: (pod: PodFacts, context: Context) => Verdict;
}

interface Context {
  readonly owners: Owners | null;
}

const skip = (reason: string, waitFor = false): Verdict => ({
  kind: "stop",
  behaviour: "skip",
  reason,
  waitFor,
});

/** In this order: what needs no eviction at all comes before what speaks against one. */
const FILTERS: readonly Filter[] = [
  {
    name: "mirror",
    judge: (pod) =>
      pod.mirror || pod.controller?.kind === "Node"
        ? skip("static pod: the kubelet runs it from a file")
        : null,
  },
  {
    // Nothing runs in it; it goes with its node, and its logs stay readable until then.
    name: "finished",
    judge: ({ phase }) => (phase === "Succeeded" || phase === "Failed" ? skip(`finished (${phase})`) : null),
  },
  { name: "daemon-set", judge: judgeDaemonSet },
  {
    name: "terminating",
    judge: ({ terminating }) => (terminating ? skip("is being deleted already", true) : null),
  },
  {
    name: "unmanaged",
    judge: ({ controller }) =>
      controller === null ? { kind: "object", reason: "has no controller and will not come back" } : null,
  },
  {
    name: "empty-dir",
    judge: ({ emptyDirs }) =>
      emptyDirs.length === 0
        ? null
        : { kind: "object", reason: `its emptyDir data is lost (${emptyDirs.join(", ")})` },
  },
];

/** Its controller would put the pod back at once, cordon or not. A pod left over from a deleted DaemonSet has none. */
function judgeDaemonSet({ controller, namespace }: PodFacts, { owners }: Context): Verdict {
  if (controller?.kind !== "DaemonSet") return null;
  if (owners === null || owners.has(namespace, "DaemonSet", controller.name)) {
    return skip("belongs to a DaemonSet, which runs on cordoned nodes too");
  }
  return {
    kind: "object",
    reason: `its DaemonSet ${controller.name} no longer exists, so it will not come back`,
  };
}

/** Each pod in exactly one of `evict`, `skip`, `refuse`, in the order given. */
export function classifyPods(pods: readonly PodFacts[], settings: DrainSettings): DrainBuckets {
  const acknowledged = new Set(settings.acknowledged ?? []);
  const context = { owners: settings.workloads === null ? null : new Owners(settings.workloads) };
  const decisions = pods.map((pod) => decide(pod, context, acknowledged.has(podKey(pod))));
  const of = (behaviour: Behaviour): PodDecision[] => decisions.filter((d) => d.behaviour === behaviour);
  return {
    evict: of("evict"),
    skip: of("skip"),
    refuse: of("refuse"),
    waitFor: decisions.filter(({ waitFor }) => waitFor),
  };
}

function decide(pod: PodFacts, context: Context, acknowledged: boolean): PodDecision {
  const reasons: string[] = [];
  let by = "none";
  for (const { name, judge } of FILTERS) {
    const verdict = judge(pod, context);
    if (verdict === null) continue;
    if (verdict.kind === "stop") {
      const { behaviour, reason, waitFor = false } = verdict;
      return { pod, behaviour, reason, by: name, waitFor };
    }
    if (reasons.length === 0) by = name;
    reasons.push(verdict.reason);
  }
  if (reasons.length === 0) {
    return { pod, behaviour: "evict", reason: "its controller replaces it", by, waitFor: false };
  }
  const reason = reasons.join("; ");
  return acknowledged
    ? { pod, behaviour: "evict", reason: `acknowledged: ${reason}`, by: "acknowledged", waitFor: false }
    : { pod, behaviour: "refuse", reason, by, waitFor: false };
}

/**
 * One refusal per refused pod; a warning per acknowledged one, which is a loss all the same, and per acknowledgement
 * that fits no pod (names of replicas change, so it may have been meant for an earlier one).
 */
export function drainFindings(buckets: DrainBuckets, acknowledged: readonly string[] = []): Finding[] {
  const rule =
    "a drain deletes nothing that no controller brings back, unless that pod is acknowledged by name";
  const all = [...buckets.evict, ...buckets.skip, ...buckets.refuse].map(({ pod }) => podKey(pod));
  const known = new Set(all);
  return [
    ...buckets.refuse.map(({ pod, reason, by }): Finding => ({
      code: by === "empty-dir" ? "DRAIN-EMPTYDIR" : "DRAIN-UNMANAGED",
      severity: "refuse",
      subject: `pod ${podKey(pod)}`,
      message: `${reason}${pod.nodeName === null ? "" : ` (on node ${pod.nodeName})`}`,
      rule,
      repair: `save what is worth keeping, then acknowledge "${podKey(pod)}", or have its owner remove it`,
    })),
    ...buckets.evict
      .filter(({ by }) => by === "acknowledged")
      .map(({ pod, reason }): Finding => ({
        code: "DRAIN-ACKNOWLEDGED",
        severity: "warn",
        subject: `pod ${podKey(pod)}`,
        message: reason,
        rule,
        repair: "nothing, if that is still meant",
      })),
    ...acknowledged
      .filter((key) => !known.has(key))
      .map((key): Finding => ({
        code: "DRAIN-ACK-UNKNOWN",
        severity: "warn",
        subject: `acknowledgement ${key}`,
        message: `no such pod is on the nodes to drain${didYouMean(key, all)}`,
        rule,
        repair: "write it as namespace/name, or take it away if the pod is gone",
      })),
  ];
}
