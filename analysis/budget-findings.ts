/** Would the budgets let these pods be evicted? Answered before a node is cordoned, budget and workload named. */

import {
  BudgetIndex,
  allowedDisruptions,
  budgetRule,
  desiredHealthy,
  expectedPods,
  ignoresBudgets,
  knowsUnhealthyPolicy,
  membersOf,
  neverAllows,
  podsToAllowOne,
  ruleText,
  unhealthyPolicy,
} from "./budgets.ts";
import type { Finding } from "./finding.ts";
import type { BudgetFacts, BudgetStatus, Inventory, PodFacts } from "./inventory.ts";
import { Owners, type TopOwner, ownerText } from "./owners.ts";
import { selectorText } from "./selectors.ts";

export interface BudgetQuestion {
  /** `gitVersion` of the API server; the inventory's when not given. */
  readonly serverVersion?: string;
}

const EVICTION =
  "the eviction API allows currentHealthy - desiredHealthy evictions (policy/v1 PodDisruptionBudget)";

/**
 * - `PDB-NEVER`, `PDB-BLOCKS`, `PDB-OVERLAP`, `PDB-UNCOUNTABLE`, `PDB-INVALID` refuse: waiting does not help.
 * - `PDB-WAITS`, `PDB-UNHEALTHY`, `PDB-UNDECIDED` hold: other pods have to become ready, or the status to be written.
 * - `PDB-GAP`, `PDB-PROTECTS-NOTHING` warn.
 *
 * Budgets that have nothing to do with `pods` give nothing, whatever state they are in. Findings are in the order of
 * the inventory's budgets.
 */
export function budgetFindings(
  inventory: Inventory,
  pods: readonly PodFacts[],
  { serverVersion = inventory.cluster.serverVersion }: BudgetQuestion = {},
): Finding[] {
  const owners = new Owners(inventory.workloads);
  const index = new BudgetIndex(inventory.budgets);
  const members = membersOf(inventory, index);
  const evicted = new Map<BudgetFacts, PodFacts[]>();
  const uncovered: PodFacts[] = [];
  const overlaps = new Map<string, Overlap>();
  for (const pod of pods) {
    if (ignoresBudgets(pod)) continue;
    const [only, ...more] = index.covering(pod);
    if (only === undefined) uncovered.push(pod);
    else if (more.length > 0) noteOverlap(overlaps, [only, ...more], pod, owners);
    else evicted.set(only, [...(evicted.get(only) ?? []), pod]);
  }
  const findings = [...overlaps.values()].map(overlapFinding);
  for (const budget of inventory.budgets) {
    const leaving = evicted.get(budget);
    const selected = members.get(budget) ?? [];
    if (leaving !== undefined) findings.push(...judge({ budget, leaving, selected, owners, serverVersion }));
    else if (protectsNothing(budget, selected)) findings.push(...emptyFinding(budget, uncovered, owners));
  }
  return findings;
}

interface Case {
  readonly budget: BudgetFacts;
  /** Of the pods to evict, those under this budget alone. Not empty. */
  readonly leaving: readonly PodFacts[];
  /** All pods that the budget selects. */
  readonly selected: readonly PodFacts[];
  readonly owners: Owners;
  readonly serverVersion: string;
}

function judge(given: Case): Finding[] {
  const { budget, leaving, selected, owners, serverVersion } = given;
  const rule = budgetRule(budget);
  if (rule.field === "invalid") {
    return [
      finding(
        given,
        "PDB-INVALID",
        "refuse",
        rule.why,
        "give one of the two fields, a number or a percentage",
      ),
    ];
  }
  // A pod that is not ready is no loss to a budget that says so, or that is met without it.
  const { status } = budget;
  const always = unhealthyPolicy(budget, serverVersion) === "AlwaysAllow";
  const met = status !== null && status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy;
  const held = leaving.filter((pod) => pod.ready || !(always || met));
  if (held.length === 0) return [];
  if (neverAllows(budget)) return [neverFinding(given)];
  const expected = expectedPods(budget, selected, owners);
  if (expected.problem !== null) return [uncountableFinding(given, expected.problem)];
  const desired = desiredHealthy(budget, expected.count);
  if (expected.count > 0 && expected.count <= desired) return [blocksFinding(given, expected.count, desired)];
  if (status === null || status.expectedPods === 0) return [undecidedFinding(given)];
  if (status.disruptionsAllowed <= 0) return [waitingFinding(given, status, held)];
  return gapFinding(given, status, desired);
}

function neverFinding(given: Case): Finding {
  const { budget } = given;
  const instead =
    budget.minAvailable === null
      ? "set maxUnavailable to 1"
      : `replace minAvailable: ${budget.minAvailable} by maxUnavailable: 1`;
  // No word of more replicas here: a fixed zero stays zero.
  return finding(
    given,
    "PDB-NEVER",
    "refuse",
    `${ruleText(budget)} never allows an eviction, however many pods there are`,
    `${instead} in the budget, or have its owner move the pods of ${workloads(given)} by hand`,
  );
}

function uncountableFinding(given: Case, problem: string): Finding {
  return finding(
    given,
    "PDB-UNCOUNTABLE",
    "refuse",
    `${ruleText(given.budget)} can't be worked out, because ${problem}: no eviction is ever allowed`,
    "give the budget a whole number as minAvailable, which needs no count of the workload's size",
  );
}

function blocksFinding(given: Case, expected: number, desired: number): Finding {
  const { budget } = given;
  const percent = typeof budget.minAvailable === "string" ? `, since percentages round up` : "";
  const enough = podsToAllowOne(budget) ?? expected + 1;
  const outage = expected === 1 ? "a short outage" : "one pod fewer meanwhile";
  return finding(
    given,
    "PDB-BLOCKS",
    "refuse",
    `${ruleText(budget)} wants ${desired} healthy of ${expected} pods of ${workloads(given)}${percent}: 0 evictions ` +
      "allowed, and an eviction never starts a substitute first",
    `raise the replicas of ${workloads(given)} to ${enough}, or set maxUnavailable: 1 in the budget instead and accept ${outage}`,
  );
}

function undecidedFinding(given: Case): Finding {
  const { budget, selected } = given;
  const seen =
    budget.status === null
      ? "the disruption controller has not looked at this budget yet"
      : `its status counts 0 pods, but it selects ${selected.length}`;
  return finding(
    given,
    "PDB-UNDECIDED",
    "hold",
    `${seen}: not decided whether it allows an eviction`,
    "wait until its status is up to date; if that takes more than seconds, look at the controller-manager's log",
  );
}

function waitingFinding(given: Case, status: BudgetStatus, held: readonly PodFacts[]): Finding {
  const { budget, serverVersion } = given;
  const seen =
    `has ${status.currentHealthy} healthy pods, wants ${status.desiredHealthy} of ${status.expectedPods}, ` +
    `and allows ${status.disruptionsAllowed} evictions now`;
  const unready = held.filter(({ ready }) => !ready);
  if (unready.length === 0) {
    const counted = allowedDisruptions(budget, {
      expected: status.expectedPods,
      healthy: status.currentHealthy,
    });
    const cause = counted > 0 ? "evictions already granted are under way" : "other pods are not ready";
    return finding(
      given,
      "PDB-WAITS",
      "hold",
      `${seen}: ${cause}`,
      `wait until enough pods of ${workloads(given)} are ready`,
    );
  }
  const names = unready.map(({ name }) => name).join(", ");
  const setting = knowsUnhealthyPolicy(serverVersion)
    ? "; or set unhealthyPodEvictionPolicy: AlwaysAllow in the budget, so that pods that are not ready may go"
    : "";
  return finding(
    given,
    "PDB-UNHEALTHY",
    "hold",
    `${seen}; not ready are ${names}, which it holds on their node as well`,
    `mend the pods of ${workloads(given)} so that they become ready${setting}`,
  );
}

function gapFinding(given: Case, status: BudgetStatus, desired: number): Finding[] {
  const ready = given.leaving.filter((pod) => pod.ready).length;
  if (desired > 0 || ready < status.currentHealthy) return [];
  const who = ready === 1 ? "the only ready pod" : `all ${ready} ready pods`;
  return [
    finding(
      given,
      "PDB-GAP",
      "warn",
      `${ruleText(given.budget)} lets ${who} of ${workloads(given)} go at once: a gap until a substitute is Ready`,
      `accept the gap, or give ${workloads(given)} more replicas and a budget that keeps one`,
    ),
  ];
}

interface Overlap {
  readonly budgets: readonly BudgetFacts[];
  readonly workload: string;
  readonly namespace: string;
  readonly pods: string[];
}

function noteOverlap(
  seen: Map<string, Overlap>,
  budgets: readonly BudgetFacts[],
  pod: PodFacts,
  owners: Owners,
): void {
  const workload = ownerText(owners.topOf(pod), pod);
  const key = [pod.namespace, workload, ...budgets.map(({ name }) => name).sort()].join("/");
  const known = seen.get(key);
  if (known === undefined) seen.set(key, { budgets, workload, namespace: pod.namespace, pods: [pod.name] });
  else known.pods.push(pod.name);
}

function overlapFinding({ budgets, workload, namespace, pods }: Overlap): Finding {
  const names = budgets.map(({ name }) => name).join(", ");
  return {
    code: "PDB-OVERLAP",
    severity: "refuse",
    subject: `PodDisruptionBudgets ${names} in ${namespace}`,
    message: `${workload}: pods ${pods.join(", ")} are under ${budgets.length} budgets (${names})`,
    rule: "the eviction API answers 500 for a pod with more than one PodDisruptionBudget",
    repair: "narrow the selectors, or delete budgets, until one covers each pod",
  };
}

const protectsNothing = ({ status }: BudgetFacts, selected: readonly PodFacts[]): boolean =>
  selected.length === 0 && (status === null || status.expectedPods === 0);

/** Only where a pod that leaves looks as if it was meant: its workload has the budget's name, or a label in common. */
function emptyFinding(budget: BudgetFacts, uncovered: readonly PodFacts[], owners: Owners): Finding[] {
  const meant = uncovered.filter(
    (pod) =>
      pod.namespace === budget.namespace &&
      (owners.topOf(pod)?.name === budget.name || sharesLabel(budget, pod)),
  );
  const names = [...new Set(meant.map((pod) => ownerText(owners.topOf(pod), pod)))].join(", ");
  if (names === "") return [];
  return [
    {
      code: "PDB-PROTECTS-NOTHING",
      severity: "warn",
      subject: `PodDisruptionBudget ${budget.namespace}/${budget.name}`,
      message:
        `budget protects nothing: it selects ${selectorText(budget.selector)}, which no pod has. ` +
        `It holds no eviction, and nothing keeps all pods of ${names} from being evicted together`,
      rule: "a budget's selector is matched against labels of pods, not of their Deployment",
      repair: `correct the selector so that it matches the pods of ${names}`,
    },
  ];
}

function sharesLabel({ selector }: BudgetFacts, { labels }: PodFacts): boolean {
  if (selector === null) return false;
  return (
    Object.entries(selector.matchLabels).some(
      ([key, value]) => Object.hasOwn(labels, key) && labels[key] === value,
    ) ||
    selector.matchExpressions.some(
      ({ key, operator, values }) =>
        operator === "In" && Object.hasOwn(labels, key) && values.includes(labels[key] ?? ""),
    )
  );
}

function finding(
  { budget, leaving, owners }: Case,
  code: string,
  severity: Finding["severity"],
  message: string,
  repair: string,
): Finding {
  const names = workloads({ leaving, owners });
  return {
    code,
    severity,
    subject: `PodDisruptionBudget ${budget.namespace}/${budget.name}`,
    message: message.includes(names) ? message : `${names}: ${message}`,
    rule: EVICTION,
    repair,
  };
}

function workloads({ leaving, owners }: Pick<Case, "leaving" | "owners">): string {
  const owner = (pod: PodFacts): TopOwner | null => owners.topOf(pod);
  return [...new Set(leaving.map((pod) => ownerText(owner(pod), pod)))].join(", ");
}
