/** Conditions on what a drain of certain nodes would do, or has done. */
import { z } from "zod";
import { budgetFindings } from "../budget-findings.ts";
import { comebackFindings } from "../comeback.ts";
import { classifyPods, drainFindings, podKey, type DrainBuckets } from "../drain-filters.ts";
import type { Finding } from "../finding.ts";
import type { Inventory } from "../inventory.ts";
import { condition } from "./world.ts";

const Drained = z.strictObject({ nodes: z.array(z.string()), acknowledge: z.array(z.string()) });

/** Nothing on these nodes is in the way of a drain for good. */
export const drainAllowed = condition(Drained, (world, { nodes, acknowledge }) => {
  const { inventory } = world;
  const buckets = bucketsOn(inventory, nodes, acknowledge);
  // Those refused as well: who acknowledges one shall know all that stands in its way.
  const leaving = [...buckets.evict, ...buckets.refuse].map((decision) => decision.pod);
  return [
    ...drainFindings(buckets, acknowledge),
    ...budgetFindings(inventory, leaving),
    ...comebackFindings(inventory, leaving),
  ];
});

/** Nothing that a drain would evict, or wait for, is left on these nodes. */
export const nodeEmpty = condition(Drained, (world, { nodes, acknowledge }): Finding[] => {
  const buckets = bucketsOn(world.inventory, nodes, acknowledge);
  return [...buckets.evict, ...buckets.refuse, ...buckets.waitFor].map(({ pod }) => ({
    code: "NODE-NOT-EMPTY",
    severity: "hold",
    subject: `Node ${pod.nodeName ?? ""}`,
    message: `pod ${podKey(pod)} is still on it`,
    rule: "a drained node holds no pod but those of DaemonSets and the node itself",
    repair: `kubectl -n ${pod.namespace} describe pod ${pod.name}`,
  }));
});

export function bucketsOn(
  inventory: Inventory,
  nodes: readonly string[],
  acknowledge: readonly string[],
): DrainBuckets {
  const pods = inventory.pods.filter((pod) => pod.nodeName !== null && nodes.includes(pod.nodeName));
  return classifyPods(pods, { acknowledged: acknowledge, workloads: inventory.workloads });
}
