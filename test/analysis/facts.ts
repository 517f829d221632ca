/** Small pieces of an inventory, each with defaults of a healthy cluster. */

import type {
  BudgetFacts,
  BudgetStatus,
  Inventory,
  LabelSelector,
  NodeFacts,
  PodFacts,
  Toleration,
  WorkloadFacts,
} from "../../analysis/inventory.ts";

export const select = (matchLabels: Record<string, string>): LabelSelector => ({
  matchLabels,
  matchExpressions: [],
});

export const node = (name: string, more: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  uid: `uid-${name}`,
  kubeletVersion: "v1.34.4",
  ready: true,
  unschedulable: false,
  controlPlane: false,
  labels: {},
  annotations: {},
  taints: [],
  ...more,
});

export const pod = (name: string, more: Partial<PodFacts> = {}): PodFacts => ({
  namespace: "shop",
  name,
  uid: `uid-${name}`,
  nodeName: "old-1",
  labels: {},
  phase: "Running",
  ready: true,
  terminating: false,
  controller: null,
  mirror: false,
  emptyDirs: [],
  gracePeriodSeconds: 30,
  tolerations: [],
  ...more,
});

export const toleration = (more: Partial<Toleration>): Toleration => ({
  key: "",
  operator: "Exists",
  value: "",
  effect: "",
  ...more,
});

export const workload = (kind: string, name: string, more: Partial<WorkloadFacts> = {}): WorkloadFacts => ({
  kind,
  namespace: "shop",
  name,
  uid: `uid-${kind}-${name}`,
  replicas: 1,
  readyReplicas: 1,
  podLabels: { app: name },
  controller: null,
  ...more,
});

export const budget = (name: string, more: Partial<BudgetFacts> = {}): BudgetFacts => ({
  namespace: "shop",
  name,
  selector: select({ app: name }),
  minAvailable: null,
  maxUnavailable: null,
  unhealthyPodEvictionPolicy: null,
  status: null,
  ...more,
});

/** As the disruption controller would write it. */
export const status = (
  expectedPods: number,
  currentHealthy: number,
  desiredHealthy: number,
): BudgetStatus => ({
  expectedPods,
  currentHealthy,
  desiredHealthy,
  disruptionsAllowed: expectedPods <= 0 ? 0 : Math.max(0, currentHealthy - desiredHealthy),
});

/** A Deployment and its pods, the first `unready` of them not ready; pods are spread over the nodes in turn. */
export function deployment(
  name: string,
  replicas: number,
  options: {
    readonly unready?: number;
    readonly nodes?: readonly string[];
    readonly labels?: Record<string, string>;
  } = {},
): { readonly workload: WorkloadFacts; readonly pods: PodFacts[] } {
  const { unready = 0, nodes = ["old-1"], labels = { app: name } } = options;
  return {
    workload: workload("Deployment", name, {
      replicas,
      readyReplicas: replicas - unready,
      podLabels: labels,
    }),
    pods: Array.from({ length: replicas }, (_, index) =>
      pod(`${name}-7d9f8-${index}`, {
        labels,
        ready: index >= unready,
        nodeName: nodes[index % nodes.length] ?? null,
        controller: { kind: "ReplicaSet", name: `${name}-7d9f8`, uid: `uid-rs-${name}` },
      }),
    ),
  };
}

export const inventory = (more: Partial<Inventory> = {}): Inventory => ({
  cluster: { uid: "11111111-aaaa", serverVersion: "v1.34.4" },
  nodes: [node("old-1"), node("old-2"), node("new-1")],
  pods: [],
  budgets: [],
  workloads: [],
  ...more,
});
