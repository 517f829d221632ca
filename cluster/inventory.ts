/** Reads a live cluster into the one inventory that every analysis works on. */
import type {
  V1Deployment,
  V1LabelSelector,
  V1Namespace,
  V1Node,
  V1OwnerReference,
  V1Pod,
  V1PodDisruptionBudget,
  V1ReplicaSet,
  V1StatefulSet,
} from "@kubernetes/client-node";
import type {
  BudgetFacts,
  Inventory,
  LabelSelector,
  NodeFacts,
  Owner,
  PodFacts,
  SelectorRequirement,
  WorkloadFacts,
} from "../analysis/inventory.ts";
import type { Api } from "./api.ts";

/** Read-only, paged. Several collections are read side by side; each is a snapshot of its own. */
export async function readInventory(api: Api): Promise<Inventory> {
  const [system, namespaces, version, nodes, pods, budgets, workloads] = await Promise.all([
    api.get<{ metadata?: { uid?: string } }>("/api/v1/namespaces/kube-system"),
    api.list<V1Namespace>("/api/v1/namespaces"),
    api.get<{ gitVersion?: string }>("/version"),
    api.list<V1Node>("/api/v1/nodes"),
    api.list<V1Pod>("/api/v1/pods"),
    api.list<V1PodDisruptionBudget>("/apis/policy/v1/poddisruptionbudgets"),
    readWorkloads(api),
  ]);
  return {
    cluster: { uid: system.metadata?.uid ?? "", serverVersion: version.gitVersion ?? "" },
    namespaces: namespaces.items.map((item) => ({
      name: item.metadata?.name ?? "",
      annotations: item.metadata?.annotations ?? {},
    })),
    nodes: nodes.items.map(nodeFacts).sort((a, b) => a.name.localeCompare(b.name)),
    pods: pods.items.map(podFacts),
    budgets: budgets.items.map(budgetFacts),
    workloads,
  };
}

async function readWorkloads(api: Api): Promise<WorkloadFacts[]> {
  const [deployments, statefulSets, replicaSets, daemonSets, controllers] = await Promise.all([
    api.list<V1Deployment>("/apis/apps/v1/deployments"),
    api.list<V1StatefulSet>("/apis/apps/v1/statefulsets"),
    api.list<V1ReplicaSet>("/apis/apps/v1/replicasets"),
    api.list<Templated>("/apis/apps/v1/daemonsets"),
    api.list<Templated>("/api/v1/replicationcontrollers"),
  ]);
  return [
    ...deployments.items.map((item) => workloadFacts("Deployment", item)),
    ...statefulSets.items.map((item) => workloadFacts("StatefulSet", item)),
    ...replicaSets.items.map((item) => workloadFacts("ReplicaSet", item)),
    ...controllers.items.map((item) => workloadFacts("ReplicationController", item)),
    ...daemonSets.items.map((item) => ({ ...workloadFacts("DaemonSet", item), replicas: null })),
  ];
}

export function nodeFacts(node: V1Node): NodeFacts {
  const labels = node.metadata?.labels ?? {};
  return {
    name: node.metadata?.name ?? "",
    uid: node.metadata?.uid ?? "",
    kubeletVersion: node.status?.nodeInfo?.kubeletVersion ?? "",
    ready: (node.status?.conditions ?? []).some((one) => one.type === "Ready" && one.status === "True"),
    unschedulable: node.spec?.unschedulable ?? false,
    controlPlane: "node-role.kubernetes.io/control-plane" in labels,
    labels,
    annotations: node.metadata?.annotations ?? {},
    taints: (node.spec?.taints ?? []).map((taint) => ({
      key: taint.key,
      value: taint.value ?? "",
      effect: taint.effect,
    })),
  };
}

export function podFacts(pod: V1Pod): PodFacts {
  return {
    namespace: pod.metadata?.namespace ?? "",
    name: pod.metadata?.name ?? "",
    uid: pod.metadata?.uid ?? "",
    nodeName: pod.spec?.nodeName ?? null,
    labels: pod.metadata?.labels ?? {},
    phase: (pod.status?.phase ?? "Unknown") as PodFacts["phase"],
    ready: (pod.status?.conditions ?? []).some((one) => one.type === "Ready" && one.status === "True"),
    terminating: pod.metadata?.deletionTimestamp !== undefined,
    controller: controllerOf(pod.metadata?.ownerReferences),
    mirror: "kubernetes.io/config.mirror" in (pod.metadata?.annotations ?? {}),
    emptyDirs: (pod.spec?.volumes ?? []).filter((one) => one.emptyDir !== undefined).map((one) => one.name),
    images: (pod.spec?.containers ?? []).flatMap(({ image }) => image ?? []),
    gracePeriodSeconds: pod.spec?.terminationGracePeriodSeconds ?? 30,
    tolerations: (pod.spec?.tolerations ?? []).map((one) => ({
      key: one.key ?? "",
      operator: one.operator === "Exists" ? "Exists" : "Equal",
      value: one.value ?? "",
      effect: one.effect ?? "",
    })),
  };
}

export function budgetFacts(budget: V1PodDisruptionBudget): BudgetFacts {
  const status = budget.status;
  const seen = status !== undefined && (status.observedGeneration ?? 0) >= (budget.metadata?.generation ?? 0);
  return {
    namespace: budget.metadata?.namespace ?? "",
    name: budget.metadata?.name ?? "",
    selector: selectorFacts(budget.spec?.selector),
    minAvailable: budget.spec?.minAvailable ?? null,
    maxUnavailable: budget.spec?.maxUnavailable ?? null,
    unhealthyPodEvictionPolicy: (budget.spec?.unhealthyPodEvictionPolicy ??
      null) as BudgetFacts["unhealthyPodEvictionPolicy"],
    status: seen
      ? {
          expectedPods: status.expectedPods ?? 0,
          currentHealthy: status.currentHealthy ?? 0,
          desiredHealthy: status.desiredHealthy ?? 0,
          disruptionsAllowed: status.disruptionsAllowed ?? 0,
        }
      : null,
  };
}

type Templated = Pick<V1Deployment, "metadata" | "kind"> & {
  spec?: { replicas?: number; template?: { metadata?: { labels?: Record<string, string> } } };
  status?: { readyReplicas?: number };
};

function workloadFacts(kind: string, item: Templated): WorkloadFacts {
  return {
    kind,
    namespace: item.metadata?.namespace ?? "",
    name: item.metadata?.name ?? "",
    uid: item.metadata?.uid ?? "",
    replicas: item.spec?.replicas ?? 1,
    readyReplicas: item.status?.readyReplicas ?? 0,
    podLabels: item.spec?.template?.metadata?.labels ?? {},
    controller: controllerOf(item.metadata?.ownerReferences),
  };
}

function controllerOf(owners: readonly V1OwnerReference[] | undefined): Owner | null {
  const owner = owners?.find((one) => one.controller === true);
  return owner === undefined ? null : { kind: owner.kind, name: owner.name, uid: owner.uid };
}

function selectorFacts(selector: V1LabelSelector | undefined): LabelSelector | null {
  if (selector === undefined) return null;
  return {
    matchLabels: selector.matchLabels ?? {},
    matchExpressions: (selector.matchExpressions ?? []).map((one) => ({
      key: one.key,
      operator: one.operator as SelectorRequirement["operator"],
      values: one.values ?? [],
    })),
  };
}
