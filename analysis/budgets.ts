/**
 * The arithmetic of PodDisruptionBudgets, as the disruption controller (pkg/controller/disruption) and the eviction
 * subresource (pkg/registry/core/pod/storage/eviction.go) of Kubernetes do it.
 */

import type { BudgetFacts, Inventory, PodFacts } from "./inventory.ts";
import type { Owners, TopOwner } from "./owners.ts";
import { matchesSelector, requiredPairs } from "./selectors.ts";
import { atLeast, readVersion } from "./versions.ts";

/** What a budget's two fields say. `percent` is 0 to 100. */
export type BudgetRule =
  | {
      readonly field: "minAvailable" | "maxUnavailable";
      readonly unit: "pods" | "percent";
      readonly value: number;
    }
  /** Neither field: the controller counts no expected pods and so allows no disruption. */
  | { readonly field: "none" }
  /** The API server would not store it. */
  | { readonly field: "invalid"; readonly why: string };

type Fields = Pick<BudgetFacts, "minAvailable" | "maxUnavailable">;

export function budgetRule({ minAvailable, maxUnavailable }: Fields): BudgetRule {
  if (minAvailable !== null && maxUnavailable !== null) {
    return { field: "invalid", why: "minAvailable and maxUnavailable are both given; only one may be" };
  }
  const field = minAvailable === null ? "maxUnavailable" : "minAvailable";
  const value = minAvailable ?? maxUnavailable;
  if (value === null) return { field: "none" };
  if (typeof value === "number") {
    if (Number.isSafeInteger(value) && value >= 0) return { field, unit: "pods", value };
    return { field: "invalid", why: `${field}: ${value} is no whole number from 0` };
  }
  const percent = /^([0-9]{1,3})%$/.exec(value)?.[1];
  if (percent !== undefined && Number(percent) <= 100)
    return { field, unit: "percent", value: Number(percent) };
  return {
    field: "invalid",
    why: `${field}: "${value}" is neither a number nor a percentage from 0% to 100%`,
  };
}

/** `minAvailable: 67%`, for messages. */
export function ruleText({ minAvailable, maxUnavailable }: Fields): string {
  const parts = [
    ...(minAvailable === null ? [] : [`minAvailable: ${minAvailable}`]),
    ...(maxUnavailable === null ? [] : [`maxUnavailable: ${maxUnavailable}`]),
  ];
  return parts.length === 0 ? "neither minAvailable nor maxUnavailable" : parts.join(", ");
}

/** Percentages are rounded up, for both fields: `percentOf(67, 3)` is 3. Whole numbers only, so exact. */
export const percentOf = (percent: number, pods: number): number => Math.floor((percent * pods + 99) / 100);

/**
 * Pods that must stay healthy among `expected` ones.
 * @throws RangeError for a budget that the API server would refuse; look with {@link budgetRule} first.
 */
export function desiredHealthy(budget: Fields, expected: number): number {
  const rule = budgetRule(budget);
  if (rule.field === "invalid") throw new RangeError(rule.why);
  if (rule.field === "none") return 0;
  const pods = rule.unit === "pods" ? rule.value : percentOf(rule.value, expected);
  return rule.field === "minAvailable" ? pods : Math.max(0, expected - pods);
}

/** Evictions of ready pods that are possible right now. None while no pods are expected. @throws RangeError */
export function allowedDisruptions(
  budget: Fields,
  { expected, healthy }: { readonly expected: number; readonly healthy: number },
): number {
  if (expected <= 0 || budgetRule(budget).field === "none") return 0;
  return Math.max(0, healthy - desiredHealthy(budget, expected));
}

/** True when no number of pods makes room for an eviction: `0`, `0%`, `100%` wanted, or no field at all. */
export function neverAllows(budget: Fields): boolean {
  const rule = budgetRule(budget);
  if (rule.field === "none") return true;
  if (rule.field === "maxUnavailable") return rule.value === 0;
  return rule.field === "minAvailable" && rule.unit === "percent" && rule.value === 100;
}

/**
 * `unhealthyPodEvictionPolicy` as this server honours it. Alpha and off in 1.26, on by default from 1.27: an older server
 * drops or ignores the field.
 */
export function unhealthyPolicy(
  budget: BudgetFacts,
  serverVersion: string,
): "IfHealthyBudget" | "AlwaysAllow" {
  const known = knowsUnhealthyPolicy(serverVersion);
  return known && budget.unhealthyPodEvictionPolicy === "AlwaysAllow" ? "AlwaysAllow" : "IfHealthyBudget";
}

/** False as well for a server whose version can't be read: no advice on what it may not know. */
export function knowsUnhealthyPolicy(serverVersion: string): boolean {
  const read = readVersion(serverVersion);
  return read.ok && atLeast(read.version, "1.27.0-alpha.1");
}

/** The eviction API deletes these without a look at any budget (`canIgnorePDB`). */
export const ignoresBudgets = ({ phase, terminating }: PodFacts): boolean =>
  terminating || (phase !== "Running" && phase !== "Unknown");

/** Which budgets cover a pod, without trying every budget on every pod. */
export class BudgetIndex {
  readonly #byPair = new Map<string, BudgetFacts[]>();
  readonly #anyLabels = new Map<string, BudgetFacts[]>();

  constructor(budgets: readonly BudgetFacts[]) {
    for (const budget of budgets) {
      if (budget.selector === null) continue;
      const pairs = requiredPairs(budget.selector);
      if (pairs === null) push(this.#anyLabels, budget.namespace, budget);
      else for (const pair of pairs) push(this.#byPair, pairKey(budget.namespace, pair), budget);
    }
  }

  covering(pod: PodFacts): BudgetFacts[] {
    const candidates = new Set(this.#anyLabels.get(pod.namespace) ?? []);
    for (const pair of Object.entries(pod.labels)) {
      for (const budget of this.#byPair.get(pairKey(pod.namespace, pair)) ?? []) candidates.add(budget);
    }
    return [...candidates].filter((budget) => matchesSelector(budget.selector, pod.labels));
  }
}

const pairKey = (namespace: string, [key, value]: readonly [string, string]): string =>
  `${namespace}/${key}=${value}`;

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** The smallest number of pods at which the budget allows one eviction; null where there is none. @throws RangeError */
export function podsToAllowOne(budget: Fields): number | null {
  if (neverAllows(budget)) return null;
  const rule = budgetRule(budget);
  if (rule.field === "minAvailable" && rule.unit === "pods") return rule.value + 1;
  let pods = 1;
  // Ends: 99% wants 99 of 100, and 100% is out above.
  while (pods < 100 && pods <= desiredHealthy(budget, pods)) pods++;
  return pods;
}

/** How many pods a budget counts on, and whether the disruption controller can count them at all. */
export interface ExpectedPods {
  /** With every owner at its full size. */
  readonly count: number;
  /** Why the controller never gets a number, and so never allows an eviction; null when it does. */
  readonly problem: string | null;
}

/**
 * For percentages and `maxUnavailable` the controller adds up the sizes of the workloads that own the selected pods.
 * It can't do that for kinds without a scale subresource (DaemonSet, Job), and pods that nobody owns count nothing.
 * An integer `minAvailable` needs no such number; what is returned then is what the budget has when all are up.
 */
export function expectedPods(
  budget: BudgetFacts,
  selected: readonly PodFacts[],
  owners: Owners,
): ExpectedPods {
  const rule = budgetRule(budget);
  const needsScale =
    rule.field === "maxUnavailable" || (rule.field === "minAvailable" && rule.unit === "percent");
  const tops = new Map<string, TopOwner>();
  let unowned = 0;
  let uncounted = 0;
  for (const pod of selected) {
    const top = owners.topOf(pod);
    if (top === null) unowned++;
    else if (top.replicas === null) uncounted++;
    if (top !== null) tops.set(`${top.kind}/${top.name}`, top);
  }
  const scaled = [...tops.values()].reduce((sum, { replicas }) => sum + (replicas ?? 0), 0);
  const status = budget.status?.expectedPods ?? 0;
  if (!needsScale)
    return { count: uncounted > 0 ? Math.max(status, selected.length) : scaled + unowned, problem: null };
  const without = [...tops.values()].find(({ kind }) => WITHOUT_SCALE.has(kind));
  if (without !== undefined) {
    return { count: 0, problem: `${without.kind} ${without.name} has no scale subresource to count pods by` };
  }
  if (tops.size === 0 && unowned > 0)
    return { count: 0, problem: "its pods have no controller to count them by" };
  return { count: uncounted > 0 ? Math.max(status, scaled) : scaled, problem: null };
}

const WITHOUT_SCALE: ReadonlySet<string> = new Set(["DaemonSet", "Job", "Node"]);

/** The pods each budget selects. Budgets that select none are in the map too, with an empty list. */
export function membersOf(inventory: Inventory, index: BudgetIndex): Map<BudgetFacts, PodFacts[]> {
  const members = new Map<BudgetFacts, PodFacts[]>(inventory.budgets.map((budget) => [budget, []]));
  for (const pod of inventory.pods) {
    for (const budget of index.covering(pod)) members.get(budget)?.push(pod);
  }
  return members;
}

/** Pods that would be evicted with no budget over them: nothing keeps all of a workload from going at once. */
export function unprotectedPods(inventory: Inventory, pods: readonly PodFacts[]): PodFacts[] {
  const index = new BudgetIndex(inventory.budgets);
  return pods.filter((pod) => !ignoresBudgets(pod) && index.covering(pod).length === 0);
}
