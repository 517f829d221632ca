/** Conditions on workloads, budgets, drains, etcd and artefacts. */
import type { EtcdMemberFacts } from "../../analysis/conditions/world.ts";
import { budget, deployment, node, pod, status, workload } from "../analysis/facts.ts";
import { world, type Case } from "./case.ts";

const member = (endpoint: string, more: Partial<EtcdMemberFacts> = {}): EtcdMemberFacts => ({
  endpoint,
  clusterId: "cdf8",
  isLearner: false,
  errors: [],
  ...more,
});

const web = deployment("web", 3, { nodes: ["old-1", "old-2", "new-1"] });
const webBudget = budget("web", { minAvailable: 2, status: status(3, 3, 2) });

export const workloadCases: readonly Case[] = [
  // namespaces
  {
    says: "namespace-own: free",
    demand: { condition: "namespace-own", with: { namespace: "ops" } },
    world: world({ namespaces: [{ name: "shop", annotations: {} }] }),
    finds: [],
  },
  {
    says: "namespace-own: this program's",
    demand: { condition: "namespace-own", with: { namespace: "ops" } },
    world: world({ namespaces: [{ name: "ops", annotations: { "cluster-migration/made-for": "drill" } }] }),
    finds: [],
  },
  {
    says: "namespace-own: somebody else's, which going back would delete",
    demand: { condition: "namespace-own", with: { namespace: "ops" } },
    world: world({ namespaces: [{ name: "ops", annotations: {} }] }),
    finds: ["refuse NAMESPACE-TAKEN"],
    names: "ops",
  },
  {
    says: "namespace-own: namespaces were not read",
    demand: { condition: "namespace-own", with: { namespace: "ops" } },
    world: world(),
    finds: ["hold NOT-DECIDED"],
  },
  // workloads
  {
    says: "workload-ready: it is",
    demand: {
      condition: "workload-ready",
      with: { namespace: "shop", kind: "Deployment", name: "web", replicas: 3 },
    },
    world: world({ workloads: [web.workload] }),
    finds: [],
  },
  {
    says: "workload-ready: two of three",
    demand: {
      condition: "workload-ready",
      with: { namespace: "shop", kind: "Deployment", name: "web", replicas: 3 },
    },
    world: world({ workloads: [{ ...web.workload, readyReplicas: 2 }] }),
    finds: ["hold WORKLOAD-NOT-READY"],
    names: "2 of 3",
  },
  {
    says: "workload-ready: scaled down by somebody",
    demand: {
      condition: "workload-ready",
      with: { namespace: "shop", kind: "Deployment", name: "web", replicas: 3 },
    },
    world: world({ workloads: [{ ...web.workload, replicas: 1, readyReplicas: 1 }] }),
    finds: ["hold WORKLOAD-NOT-READY"],
  },
  {
    says: "workload-ready: not there, though its namesake of another kind is",
    demand: {
      condition: "workload-ready",
      with: { namespace: "shop", kind: "StatefulSet", name: "web", replicas: 3 },
    },
    world: world({ workloads: [web.workload] }),
    finds: ["hold WORKLOAD-NOT-READY"],
    names: "not there",
  },
  {
    says: "workloads-ready: all; what has no number of pods, or an owner, does not count",
    demand: { condition: "workloads-ready", with: {} },
    world: world({
      workloads: [
        web.workload,
        workload("DaemonSet", "logs", { replicas: null, readyReplicas: 0 }),
        workload("ReplicaSet", "web-1", {
          readyReplicas: 0,
          controller: { kind: "Deployment", name: "web", uid: "u" },
        }),
      ],
    }),
    finds: [],
  },
  {
    says: "workloads-ready: one is not",
    demand: { condition: "workloads-ready", with: {} },
    world: world({ workloads: [web.workload, workload("StatefulSet", "db", { readyReplicas: 0 })] }),
    finds: ["hold WORKLOAD-NOT-READY"],
    names: "0 of 1",
  },
  // budgets
  {
    says: "budget-present: it stands",
    demand: { condition: "budget-present", with: { namespace: "shop", name: "web", minAvailable: 2 } },
    world: world({ budgets: [webBudget] }),
    finds: [],
  },
  {
    says: "budget-present: it does not",
    demand: { condition: "budget-present", with: { namespace: "shop", name: "web", minAvailable: 2 } },
    world: world(),
    finds: ["hold PDB-MISSING"],
  },
  {
    says: "budget-present: somebody changed it",
    demand: { condition: "budget-present", with: { namespace: "shop", name: "web", minAvailable: 2 } },
    world: world({ budgets: [{ ...webBudget, minAvailable: 1 }] }),
    finds: ["refuse PDB-CHANGED"],
  },
  {
    says: "budget-present: somebody gave it a maxUnavailable",
    demand: { condition: "budget-present", with: { namespace: "shop", name: "web", minAvailable: 2 } },
    world: world({ budgets: [{ ...webBudget, maxUnavailable: 1 }] }),
    finds: ["refuse PDB-CHANGED"],
  },
  {
    says: "budget-present: it covers too few pods",
    demand: { condition: "budget-present", with: { namespace: "shop", name: "web", minAvailable: 2 } },
    world: world({ budgets: [{ ...webBudget, status: status(1, 1, 2) }] }),
    finds: ["hold PDB-COVERS-LITTLE"],
  },
  {
    says: "budget-present: nobody looked at it yet",
    demand: { condition: "budget-present", with: { namespace: "shop", name: "web", minAvailable: 2 } },
    world: world({ budgets: [{ ...webBudget, status: null }] }),
    finds: ["hold PDB-COVERS-LITTLE"],
  },
  {
    says: "budgets-healthy: all; one without pods does not count",
    demand: { condition: "budgets-healthy", with: {} },
    world: world({ budgets: [webBudget, budget("idle", { minAvailable: 1, status: status(0, 0, 1) })] }),
    finds: [],
  },
  {
    says: "budgets-healthy: one is broken",
    demand: { condition: "budgets-healthy", with: {} },
    world: world({ budgets: [{ ...webBudget, status: status(3, 1, 2) }] }),
    finds: ["hold PDB-BROKEN"],
    names: "1 healthy pods, 2 wanted",
  },
  // drains
  {
    says: "drain-allowed: owned pods, a budget that lets go",
    demand: { condition: "drain-allowed", with: { nodes: ["old-1"], acknowledge: [] } },
    world: world({ pods: web.pods, workloads: [web.workload], budgets: [webBudget] }),
    finds: [],
  },
  {
    says: "drain-allowed: a pod that nobody would make again",
    demand: { condition: "drain-allowed", with: { nodes: ["old-1"], acknowledge: [] } },
    world: world({ pods: [pod("shell")] }),
    finds: ["refuse"],
  },
  {
    says: "drain-allowed: the same pod, acknowledged",
    demand: { condition: "drain-allowed", with: { nodes: ["old-1"], acknowledge: ["shop/shell"] } },
    world: world({ pods: [pod("shell")] }),
    finds: ["~warn"],
  },
  {
    says: "drain-allowed: a budget that never lets go",
    demand: { condition: "drain-allowed", with: { nodes: ["old-1"], acknowledge: [] } },
    world: world({
      pods: web.pods,
      workloads: [web.workload],
      budgets: [budget("web", { minAvailable: 3, status: status(3, 3, 3) })],
    }),
    finds: ["refuse"],
    names: "web",
  },
  {
    says: "node-empty: only what stays on a node anyway",
    demand: { condition: "node-empty", with: { nodes: ["old-1"], acknowledge: [] } },
    world: world({
      pods: [
        pod("logs-x", { controller: { kind: "DaemonSet", name: "logs", uid: "u" } }),
        pod("kube-proxy", { mirror: true }),
        pod("done", { phase: "Succeeded" }),
        pod("elsewhere", { nodeName: "old-2" }),
      ],
      workloads: [workload("DaemonSet", "logs", { replicas: null })],
    }),
    finds: [],
  },
  {
    says: "node-empty: a pod, one that is ending, and one that may not be evicted",
    demand: { condition: "node-empty", with: { nodes: ["old-1"], acknowledge: [] } },
    world: world({
      pods: [
        ...web.pods,
        pod("ending", { terminating: true, controller: { kind: "ReplicaSet", name: "x", uid: "u" } }),
        pod("shell"),
      ],
      workloads: [web.workload],
    }),
    finds: ["hold NODE-NOT-EMPTY", "hold NODE-NOT-EMPTY", "hold NODE-NOT-EMPTY"],
  },
  // etcd
  {
    says: "etcd-healthy: two voters of one cluster",
    demand: { condition: "etcd-healthy", with: { endpoints: ["x", "y"] } },
    world: { ...world(), etcd: [member("x"), member("y")] },
    finds: [],
  },
  {
    says: "etcd-healthy: nobody answers",
    demand: { condition: "etcd-healthy", with: { endpoints: ["x", "y"] } },
    world: { ...world(), etcd: [] },
    finds: ["hold ETCD-UNHEALTHY", "hold ETCD-UNHEALTHY"],
    names: "does not answer",
  },
  {
    says: "etcd-healthy: a learner, an alarm, and a member of another cluster",
    demand: { condition: "etcd-healthy", with: { endpoints: ["x", "y", "z"] } },
    world: {
      ...world(),
      etcd: [
        member("x", { isLearner: true }),
        member("y", { errors: ["alarm:NOSPACE"] }),
        member("z", { clusterId: "other" }),
      ],
    },
    finds: ["hold ETCD-UNHEALTHY", "hold ETCD-UNHEALTHY", "hold ETCD-UNHEALTHY"],
  },
  {
    says: "etcd-healthy: not looked at",
    demand: { condition: "etcd-healthy", with: { endpoints: ["x"] } },
    world: world(),
    finds: ["hold NOT-DECIDED"],
  },
  // artefacts
  {
    says: "artefact: it is there and right",
    demand: { condition: "artefact", with: { name: "versions.json" } },
    world: {
      ...world({ nodes: [node("a")] }),
      artefacts: {
        "versions.json": { text: JSON.stringify({ server: "v1.34.4", nodes: { a: "v1.34.4" } }) },
      },
    },
    finds: [],
  },
  {
    says: "artefact: it is not there",
    demand: { condition: "artefact", with: { name: "versions.json" } },
    world: { ...world(), artefacts: { "versions.json": null } },
    finds: ["refuse ARTEFACT"],
  },
  {
    says: "artefact: it says something else than the cluster",
    demand: { condition: "artefact", with: { name: "versions.json" } },
    world: {
      ...world({ nodes: [node("a")] }),
      artefacts: {
        "versions.json": { text: JSON.stringify({ server: "v1.34.4", nodes: { a: "v1.33.0" } }) },
      },
    },
    finds: ["*"],
  },
  {
    says: "artefact: it is no YAML",
    demand: { condition: "artefact", with: { name: "skew.yaml" } },
    world: { ...world(), artefacts: { "skew.yaml": { text: "{", yaml: { ok: false, why: "no end" } } } },
    finds: ["refuse ARTEFACT"],
    names: "no end",
  },
  {
    says: "artefact: it was not looked at",
    demand: { condition: "artefact", with: { name: "cordon-note.txt" } },
    world: world(),
    finds: ["hold NOT-DECIDED"],
  },
];
