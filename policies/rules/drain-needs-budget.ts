import { budgetFindings } from "../../analysis/budget-findings.ts";
import { allowedDisruptions, BudgetIndex, budgetRule, desiredHealthy } from "../../analysis/budgets.ts";
import type { Finding } from "../../analysis/finding.ts";
import type { BudgetFacts, Inventory } from "../../analysis/inventory.ts";
import { BUDGET, declared, type Declared } from "../budgets.ts";
import {
  commandsOf,
  demandsOf,
  EMPTIES_NODES,
  gatesBefore,
  named,
  nodesOf,
  undecidedDocuments,
  type DocumentedCommand,
} from "../documents.ts";
import { violation, type Rule, type Verdict } from "../rule.ts";
import type { StackView } from "../view.ts";

export const drainNeedsBudget: Rule = {
  name: "drain-needs-budget",
  demands:
    "Nodes are emptied only where a disruption budget covers what runs on them or the gate demands `drain-allowed`; and no budget forbids eviction for good.",
  why: "without a budget all replicas may be evicted together; with one that allows none, the drain never ends (kubernetes/kubernetes#66811, hashicorp/consul-k8s#1457)",
  repair:
    "let the stage's gate demand `drain-allowed` for these nodes, or declare a PodDisruptionBudget for the workload in an earlier stage",
  limits:
    "budgets and workloads of the cluster that the stack does not declare: the gate judges those (`drain-allowed`)",
  stack: (stack) => {
    const commands = commandsOf(stack);
    const world = declared(stack);
    const drains = commands.filter(({ live, document }) => live && EMPTIES_NODES.has(document.command));
    return [
      ...drains.flatMap((command) => covered(stack, commands, command, world)),
      ...standing(world)
        .filter(({ severity }) => severity === "refuse")
        .flatMap((finding) => verdictsOf(world, finding)),
      ...world.undecided,
      ...undecidedDocuments(stack.resources),
    ];
  },
};

export const budgetProtects: Rule = {
  name: "budget-protects",
  demands: "A disruption budget selects the pods it is meant for, and keeps at least one of them.",
  why: "otherwise all pods of a workload may be evicted before a substitute is Ready (bitnami/charts#34544, projectcalico/calico#4211)",
  repair: "correct the selector; or give the workload more replicas and a budget that keeps one",
  stack: (stack) => {
    const world = declared(stack);
    return standing(world)
      .filter(({ severity }) => severity === "warn")
      .flatMap((finding) => verdictsOf(world, finding));
  },
};

function covered(
  stack: StackView,
  commands: readonly DocumentedCommand[],
  command: DocumentedCommand,
  world: Declared,
): Verdict[] {
  const { resource, document } = command;
  const gates = gatesBefore(stack, commands, command);
  const nodes = nodesOf(command);
  const judged = gates.flatMap(demandsOf).filter(({ condition }) => condition === "drain-allowed");
  if (
    nodes.length > 0 &&
    nodes.every((node) => judged.some((one) => names(one.with["nodes"]).includes(node)))
  )
    return [];
  const namespace = document.spec["listNamespace"];
  const budgets = world.inventory.budgets.filter(
    (budget) => budget.namespace === namespace && covers(world.inventory, budget),
  );
  const reached = budgets.some((budget) => {
    const declaredBy = world.budgets.get(nameOf(budget));
    return declaredBy !== undefined && stack.after(resource, declaredBy);
  });
  if (reached || world.undecided.some(({ urn }) => urn.includes(`${BUDGET}::`))) return [];
  return [
    violation(
      resource,
      `${named(command)} empties ${nodes.join(", ")}: its gate does not demand \`drain-allowed\` for them, and ` +
        (budgets.length === 0
          ? "the stack has no PodDisruptionBudget over what it drains"
          : `it does not come after ${budgets.map(nameOf).join(", ")}`),
    ),
  ];
}

const names = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

const nameOf = ({ namespace, name }: BudgetFacts): string => `PodDisruptionBudget ${namespace}/${name}`;

/** Where the stack declares the namespace's workloads, the budget has to select one of their pods. */
function covers({ pods }: Inventory, budget: BudgetFacts): boolean {
  const own = pods.filter(({ namespace }) => namespace === budget.namespace);
  const index = new BudgetIndex([budget]);
  return own.length === 0 || own.some((pod) => index.covering(pod).length > 0);
}

/** What every budget would say to an eviction of each pod, with all pods ready. */
function standing({ inventory }: Declared): readonly Finding[] {
  const budgets = inventory.budgets.map((budget): BudgetFacts => {
    const index = new BudgetIndex([budget]);
    const expected = inventory.pods.filter((pod) => index.covering(pod).length > 0).length;
    if (budgetRule(budget).field === "invalid") return budget;
    const disruptionsAllowed = allowedDisruptions(budget, { expected, healthy: expected });
    return {
      ...budget,
      status: {
        expectedPods: expected,
        currentHealthy: expected,
        desiredHealthy: desiredHealthy(budget, expected),
        disruptionsAllowed,
      },
    };
  });
  return budgetFindings({ ...inventory, budgets }, inventory.pods);
}

function verdictsOf(world: Declared, { subject, message, repair }: Finding): Verdict[] {
  // An overlap is about several budgets: any of them will do to point at.
  const resource = world.budgets.get(subject) ?? [...world.budgets.values()][0];
  return resource === undefined ? [] : [violation(resource, `${subject}: ${message}`, repair)];
}
