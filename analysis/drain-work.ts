/** What a drain has to do, brought into the form that the simulation in drain-forecast works on. */

import {
  BudgetIndex,
  allowedDisruptions,
  budgetRule,
  desiredHealthy,
  expectedPods,
  ignoresBudgets,
  membersOf,
  neverAllows,
  unhealthyPolicy,
} from "./budgets.ts";
import { classifyPods, podKey } from "./drain-filters.ts";
import type { BudgetFacts, Inventory, PodFacts } from "./inventory.ts";
import { Owners } from "./owners.ts";

export interface ForecastSettings {
  /** Nodes with evictions under way at the same time; the next one starts when one is empty. At least 1. */
  readonly maxNodesAtOnce: number;
  /** Seconds from a substitute's creation until it is Ready. */
  readonly readySeconds: number;
  /** Seconds from an eviction until the pod is gone; a pod's own grace period caps it. */
  readonly terminationSeconds: number;
  /** Pods, as `namespace/name`, that may be lost (see drain-filters). */
  readonly acknowledged?: readonly string[];
}

export interface StuckPod {
  readonly pod: string;
  readonly node: string;
  readonly why: string;
}

export interface Leaving {
  readonly key: string;
  readonly node: number;
  readonly ready: boolean;
  readonly terminationSeconds: number;
  /** When its substitute is Ready, from the eviction on; null if none is counted on. */
  readonly substituteSeconds: number | null;
  /** Its place in `Work.budgets`, or null. */
  readonly budget: number | null;
}

export interface Gate {
  readonly key: string;
  readonly desired: number;
  readonly healthy: number;
  readonly atOnce: number;
  /** Pods that are not ready go whatever the count (AlwaysAllow). */
  readonly unreadyFree: boolean;
  /** Why no eviction is ever granted here; null when counting decides. */
  readonly closed: string | null;
}

export interface NodeWork {
  readonly name: string;
  readonly pods: readonly Leaving[];
  /** Seconds until each pod that is on its way out already is gone. */
  readonly terminating: readonly number[];
  /** How many pods never leave, whatever the budgets allow. */
  readonly stuck: number;
}

export interface Work {
  readonly nodes: readonly NodeWork[];
  readonly budgets: readonly Gate[];
  readonly stuck: readonly StuckPod[];
}

/** What there is to evict from these nodes, in this order. Nodes that the inventory doesn't know are left out. */
export function prepare(
  inventory: Inventory,
  nodeOrder: readonly string[],
  settings: ForecastSettings,
): Work {
  const index = new BudgetIndex(inventory.budgets);
  const owners = new Owners(inventory.workloads);
  const members = membersOf(inventory, index);
  const exists = new Set(inventory.nodes.map(({ name }) => name));
  const names = [...new Set(nodeOrder)].filter((name) => exists.has(name));
  const nodes = names.map((name) => ({ name, pods: [] as Leaving[], terminating: [] as number[], stuck: 0 }));
  const place = new Map(names.map((name, position) => [name, position]));
  const nodeOf = ({ nodeName }: PodFacts): number => (nodeName === null ? -1 : (place.get(nodeName) ?? -1));
  const budgets: Gate[] = [];
  const gates = new Map<BudgetFacts, number>();
  const gateOf = (budget: BudgetFacts): number => {
    const known = gates.get(budget);
    if (known !== undefined) return known;
    gates.set(budget, budgets.length);
    return budgets.push(gate(budget, members.get(budget) ?? [], owners, inventory.cluster.serverVersion)) - 1;
  };
  const stuck: StuckPod[] = [];
  const keep = (pod: PodFacts, why: string): void => {
    const node = nodes[nodeOf(pod)];
    if (node === undefined) return;
    node.stuck++;
    stuck.push({ pod: podKey(pod), node: node.name, why });
  };
  const buckets = classifyPods(
    inventory.pods.filter((pod) => nodeOf(pod) >= 0),
    { workloads: inventory.workloads, acknowledged: settings.acknowledged ?? [] },
  );
  for (const { pod, reason } of buckets.refuse) keep(pod, reason);
  for (const { pod } of buckets.waitFor) nodes[nodeOf(pod)]?.terminating.push(terminationOf(pod, settings));
  for (const { pod } of buckets.evict) {
    const covering = ignoresBudgets(pod) ? [] : index.covering(pod);
    if (covering.length > 1) {
      keep(pod, `is under more than one budget (${covering.map(({ name }) => name).join(", ")})`);
      continue;
    }
    const budget = covering[0] === undefined ? null : gateOf(covering[0]);
    nodes[nodeOf(pod)]?.pods.push(leaving(pod, nodeOf(pod), budget, owners, settings));
  }
  return { nodes, budgets, stuck };
}

const terminationOf = (pod: PodFacts, { terminationSeconds }: ForecastSettings): number =>
  Math.min(terminationSeconds, pod.gracePeriodSeconds);

function leaving(
  pod: PodFacts,
  node: number,
  budget: number | null,
  owners: Owners,
  settings: ForecastSettings,
): Leaving {
  const terminationSeconds = terminationOf(pod, settings);
  const owner = owners.topOf(pod);
  // A StatefulSet starts the substitute when the old pod is gone, all others when it starts to go.
  const delay = owner?.kind === "StatefulSet" ? terminationSeconds : 0;
  const substituted = owner !== null && owner.kind !== "DaemonSet" && pod.ready;
  return {
    key: podKey(pod),
    node,
    ready: pod.ready,
    terminationSeconds,
    substituteSeconds: substituted ? delay + settings.readySeconds : null,
    budget,
  };
}

function gate(
  budget: BudgetFacts,
  selected: readonly PodFacts[],
  owners: Owners,
  serverVersion: string,
): Gate {
  const key = `${budget.namespace}/${budget.name}`;
  const unreadyFree = unhealthyPolicy(budget, serverVersion) === "AlwaysAllow";
  const closed = (why: string): Gate => ({
    key,
    desired: 0,
    healthy: 0,
    atOnce: 0,
    unreadyFree,
    closed: why,
  });
  const rule = budgetRule(budget);
  if (rule.field === "invalid") return closed(rule.why);
  if (neverAllows(budget)) return closed("never allows an eviction");
  const expected = expectedPods(budget, selected, owners);
  if (expected.problem !== null) return closed(expected.problem);
  if (expected.count === 0) return closed("its workload has no pods to count");
  const ready = selected.filter((pod) => pod.ready && !pod.terminating).length;
  const desired = desiredHealthy(budget, expected.count);
  return {
    key,
    desired,
    healthy: budget.status?.currentHealthy ?? ready,
    atOnce: allowedDisruptions(budget, { expected: expected.count, healthy: expected.count }),
    unreadyFree,
    closed: null,
  };
}
