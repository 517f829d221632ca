/** A cluster on paper: nodes, Deployments of 20 dealt out over them, and a budget for each. */
import { desiredHealthy } from "../../analysis/budgets.ts";
import type { BudgetFacts, Inventory, NodeFacts, PodFacts, WorkloadFacts } from "../../analysis/inventory.ts";
import { MAX_UNAVAILABLE, REPLICAS } from "../shape.ts";

export function fleet(nodeCount: number, podCount: number): Inventory {
  const nodes = Array.from({ length: nodeCount }, (_, index) => node(`node-${index}`));
  const deployments = Array.from({ length: Math.round(podCount / REPLICAS) }, (_, index) => `app-${index}`);
  return {
    cluster: { uid: "fleet", serverVersion: "v1.34.4" },
    nodes,
    pods: deployments.flatMap((app, number) =>
      Array.from({ length: REPLICAS }, (_, replica) =>
        pod(app, replica, nodes[(number * REPLICAS + replica) % nodeCount]?.name ?? null),
      ),
    ),
    budgets: deployments.map(budget),
    workloads: deployments.flatMap((app) => [
      workload("Deployment", app, null),
      workload("ReplicaSet", app, app),
    ]),
  };
}

const node = (name: string): NodeFacts => ({
  name,
  uid: `uid-${name}`,
  kubeletVersion: "v1.34.4",
  ready: true,
  unschedulable: false,
  controlPlane: false,
  labels: {},
  annotations: {},
  taints: [],
});

const pod = (app: string, replica: number, nodeName: string | null): PodFacts => ({
  namespace: "fleet",
  name: `${app}-${replica}`,
  uid: `uid-${app}-${replica}`,
  nodeName,
  labels: { app },
  phase: "Running",
  ready: true,
  terminating: false,
  controller: { kind: "ReplicaSet", name: app, uid: `uid-ReplicaSet-${app}` },
  mirror: false,
  emptyDirs: [],
  gracePeriodSeconds: 30,
  tolerations: [],
});

function budget(app: string): BudgetFacts {
  const fields = { minAvailable: null, maxUnavailable: MAX_UNAVAILABLE };
  const wanted = desiredHealthy(fields, REPLICAS);
  return {
    namespace: "fleet",
    name: app,
    selector: { matchLabels: { app }, matchExpressions: [] },
    ...fields,
    unhealthyPodEvictionPolicy: null,
    status: {
      expectedPods: REPLICAS,
      currentHealthy: REPLICAS,
      desiredHealthy: wanted,
      disruptionsAllowed: REPLICAS - wanted,
    },
  };
}

const workload = (kind: string, name: string, deployment: string | null): WorkloadFacts => ({
  kind,
  namespace: "fleet",
  name,
  uid: `uid-${kind}-${name}`,
  replicas: REPLICAS,
  readyReplicas: REPLICAS,
  podLabels: { app: name },
  controller:
    deployment === null
      ? null
      : { kind: "Deployment", name: deployment, uid: `uid-Deployment-${deployment}` },
});
