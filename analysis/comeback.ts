/** Pods that would be evicted and then land on the cordoned nodes again, because they tolerate the cordon itself. */

import type { Finding } from "./finding.ts";
import type { Inventory, NodeFacts, PodFacts, Taint, Toleration } from "./inventory.ts";
import { Owners, ownerText } from "./owners.ts";

/** What the node controller puts on an unschedulable node, and what the scheduler asks for. */
export const CORDON_TAINT: Taint = {
  key: "node.kubernetes.io/unschedulable",
  value: "",
  effect: "NoSchedule",
};

/** As in `Toleration.ToleratesTaint` of k8s.io/api: an empty key or effect matches any. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect !== "" && toleration.effect !== taint.effect) return false;
  if (toleration.key !== "" && toleration.key !== taint.key) return false;
  // An empty key without Exists is no valid toleration; it must not match everything.
  if (toleration.operator === "Exists") return true;
  return toleration.key !== "" && toleration.value === taint.value;
}

export interface ComebackQuestion {
  /** Taints that the nodes will carry besides the cordon, e.g. `migration=migration:NoSchedule`. */
  readonly extraTaints?: readonly Taint[];
  /** Workloads, as `namespace/name`, that something else keeps away, such as an affinity to the new pool. */
  readonly keptAway?: readonly string[];
}

/**
 * One refusal per workload of which a pod tolerates the cordon and every other hard taint of one of its own or the
 * other drained nodes. DaemonSets, static pods and pods that nobody replaces can't come back in that sense.
 */
export function comebackFindings(
  inventory: Inventory,
  pods: readonly PodFacts[],
  { extraTaints = [], keptAway = [] }: ComebackQuestion = {},
): Finding[] {
  const owners = new Owners(inventory.workloads);
  const drained = new Set(pods.map(({ nodeName }) => nodeName));
  const nodes = inventory.nodes.filter(({ name }) => drained.has(name));
  const excused = new Set(keptAway);
  const seen = new Set<string>();
  const findings: Finding[] = [];
  for (const pod of pods) {
    const owner = owners.topOf(pod);
    if (owner === null || pod.mirror || owner.kind === "DaemonSet" || owner.kind === "Node") continue;
    const key = `${owner.namespace}/${owner.kind}/${owner.name}`;
    if (seen.has(key) || excused.has(`${owner.namespace}/${owner.name}`)) continue;
    const place = landsOn(pod, nodes, extraTaints);
    if (place === null) continue;
    seen.add(key);
    findings.push({
      code: "DRAIN-COMES-BACK",
      severity: "refuse",
      subject: `${ownerText(owner, pod)} in ${owner.namespace}`,
      message: `pod ${pod.name} tolerates the cordon (${tolerationText(pod, CORDON_TAINT)}) and would land on ${place} again`,
      rule: "a toleration without a key matches every taint, that of a cordon and any migration taint too",
      repair:
        "give the workload a temporary node affinity to the nodes it shall move to, or tolerations with keys; " +
        "one more taint on the old nodes does not help",
    });
  }
  return findings;
}

/** Name of a node that the pod could be put on again; null if there is none. A node not in the inventory counts as bare. */
function landsOn(pod: PodFacts, nodes: readonly NodeFacts[], extraTaints: readonly Taint[]): string | null {
  const toleratesAll = (taints: readonly Taint[]): boolean =>
    taints
      .filter(isHard)
      .every((taint) => pod.tolerations.some((toleration) => tolerates(toleration, taint)));
  if (!toleratesAll([CORDON_TAINT, ...extraTaints])) return null;
  if (!nodes.some(({ name }) => name === pod.nodeName)) return pod.nodeName ?? "a drained node";
  const own = nodes.filter(({ name }) => name === pod.nodeName);
  return [...own, ...nodes].find(({ taints }) => toleratesAll(taints))?.name ?? null;
}

const isHard = ({ effect }: Taint): boolean => effect === "NoSchedule" || effect === "NoExecute";

function tolerationText(pod: PodFacts, taint: Taint): string {
  const found = pod.tolerations.find((toleration) => tolerates(toleration, taint));
  if (found === undefined) return "no toleration";
  const { key, operator, value, effect } = found;
  const parts = [
    `key ${JSON.stringify(key)}`,
    operator === "Exists" ? "Exists" : `= ${JSON.stringify(value)}`,
  ];
  return [...parts, effect === "" ? "any effect" : effect].join(", ");
}
