/** Budgets and workloads that a stack declares, in the form that analysis/ judges. */
import { z } from "zod";
import type {
  BudgetFacts,
  Inventory,
  LabelSelector,
  PodFacts,
  WorkloadFacts,
} from "../analysis/inventory.ts";
import { read } from "./reading.ts";
import { undecided, type Undecided } from "./rule.ts";
import type { ResourceView, StackView } from "./view.ts";

export interface Declared {
  readonly inventory: Inventory;
  /** `PodDisruptionBudget ns/name` to its resource. */
  readonly budgets: ReadonlyMap<string, ResourceView>;
  readonly undecided: readonly Undecided[];
}

/** Type of the resource. */
export const BUDGET = "kubernetes:policy/v1:PodDisruptionBudget";
const WORKLOADS: ReadonlyMap<string, string> = new Map([
  ["kubernetes:apps/v1:Deployment", "Deployment"],
  ["kubernetes:apps/v1:StatefulSet", "StatefulSet"],
  ["kubernetes:apps/v1:ReplicaSet", "ReplicaSet"],
]);

const Labels = z.record(z.string(), z.string());
const Metadata = z.object({ name: z.string(), namespace: z.string().default("default") });
const Selector = z.object({
  matchLabels: Labels.nullish(),
  matchExpressions: z
    .array(
      z.object({
        key: z.string(),
        operator: z.enum(["In", "NotIn", "Exists", "DoesNotExist"]),
        values: z.array(z.string()).nullish(),
      }),
    )
    .nullish(),
});
const Amount = z.union([z.number(), z.string()]).nullish();
const Budget = z.object({
  metadata: Metadata,
  spec: z.object({
    selector: Selector.nullish(),
    minAvailable: Amount,
    maxUnavailable: Amount,
    unhealthyPodEvictionPolicy: z.enum(["IfHealthyBudget", "AlwaysAllow"]).nullish(),
  }),
});
const Workload = z.object({
  metadata: Metadata,
  spec: z.object({
    // The API server makes one of none.
    replicas: z.number().int().nonnegative().nullish(),
    template: z.object({ metadata: z.object({ labels: Labels.nullish() }) }),
  }),
});

/** The parts that are judged; what else a resource holds may be unknown. */
const BUDGET_PARTS = [
  ["metadata", "name"],
  ["metadata", "namespace"],
  ["spec", "selector"],
  ["spec", "minAvailable"],
  ["spec", "maxUnavailable"],
  ["spec", "unhealthyPodEvictionPolicy"],
] as const;
const WORKLOAD_PARTS = [
  ["metadata", "name"],
  ["metadata", "namespace"],
  ["spec", "replicas"],
  ["spec", "template", "metadata", "labels"],
] as const;

/** What the cluster will be like when all that is declared is up: every pod there, and ready. */
export function declared(stack: StackView): Declared {
  const unknown: Undecided[] = [];
  const workloads: WorkloadFacts[] = [];
  const pods: PodFacts[] = [];
  for (const one of stack.resources) {
    const kind = WORKLOADS.get(one.type);
    const workload = kind === undefined ? null : parts(one, WORKLOAD_PARTS, Workload, unknown);
    if (kind === undefined || workload === null) continue;
    const facts = workloadFacts(kind, workload);
    workloads.push(facts);
    pods.push(...podsOf(facts));
  }
  const budgets = new Map<string, ResourceView>();
  const facts: BudgetFacts[] = [];
  for (const one of stack.ofType(BUDGET)) {
    const budget = parts(one, BUDGET_PARTS, Budget, unknown);
    if (budget === null) continue;
    budgets.set(`PodDisruptionBudget ${budget.metadata.namespace}/${budget.metadata.name}`, one);
    facts.push(budgetFacts(budget));
  }
  const inventory = { cluster: { uid: "", serverVersion: "" }, nodes: [], pods, budgets: facts, workloads };
  return { inventory, budgets, undecided: unknown };
}

function parts<T>(
  one: ResourceView,
  paths: readonly (readonly string[])[],
  shape: z.ZodType<T>,
  unknown: Undecided[],
): T | null {
  const whole: Record<string, unknown> = {};
  let missing = false;
  for (const path of paths) {
    const reading = read(one, ...path);
    if (reading.state === "unknown") {
      unknown.push(undecided(one, reading.property));
      missing = true;
    }
    if (reading.state === "known") put(whole, path, reading.value);
  }
  if (missing) return null;
  return shape.safeParse(whole).data ?? null;
}

function put(into: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const [head, ...rest] = path;
  if (head === undefined) return;
  if (rest.length === 0) into[head] = value;
  else put((into[head] ??= {}) as Record<string, unknown>, rest, value);
}

function workloadFacts(kind: string, { metadata, spec }: z.output<typeof Workload>): WorkloadFacts {
  const replicas = spec.replicas ?? 1;
  return {
    kind,
    ...metadata,
    uid: `${kind}/${metadata.namespace}/${metadata.name}`,
    replicas,
    readyReplicas: replicas,
    podLabels: spec.template.metadata.labels ?? {},
    controller: null,
  };
}

function podsOf(workload: WorkloadFacts): PodFacts[] {
  return Array.from({ length: workload.replicas ?? 0 }, (_, index) => ({
    namespace: workload.namespace,
    name: `${workload.name}-${index}`,
    uid: `${workload.uid}-${index}`,
    nodeName: null,
    labels: workload.podLabels,
    phase: "Running",
    ready: true,
    terminating: false,
    controller: { kind: workload.kind, name: workload.name, uid: workload.uid },
    mirror: false,
    emptyDirs: [],
    gracePeriodSeconds: 0,
    tolerations: [],
  }));
}

function budgetFacts({ metadata, spec }: z.output<typeof Budget>): BudgetFacts {
  return {
    ...metadata,
    selector: selectorOf(spec.selector),
    minAvailable: spec.minAvailable ?? null,
    maxUnavailable: spec.maxUnavailable ?? null,
    unhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
    status: null,
  };
}

function selectorOf(selector: z.output<typeof Selector> | null | undefined): LabelSelector | null {
  if (selector === null || selector === undefined) return null;
  return {
    matchLabels: selector.matchLabels ?? {},
    matchExpressions: (selector.matchExpressions ?? []).map((one) => ({ ...one, values: one.values ?? [] })),
  };
}
