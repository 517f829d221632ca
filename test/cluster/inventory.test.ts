/** From what `kubectl get -o json` prints to the facts that every analysis works on. */
import type { V1Node, V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { describe, expect, it } from "vitest";
import { budgetFacts, nodeFacts, podFacts, readInventory } from "../../cluster/inventory.ts";
import { BUDGETS, FakeCluster, NODES } from "./fake-cluster.ts";
import { withCertificates } from "./fake-server.ts";

withCertificates();

const parse = <T>(text: string): T => JSON.parse(text) as T;

const NODE = `{
  "apiVersion": "v1", "kind": "Node",
  "metadata": {
    "name": "cp-1", "uid": "9f0c", "labels": {"kubernetes.io/hostname": "cp-1", "node-role.kubernetes.io/control-plane": ""},
    "annotations": {"node.alpha.kubernetes.io/ttl": "0"}
  },
  "spec": {
    "podCIDR": "10.244.0.0/24", "unschedulable": true,
    "taints": [
      {"effect": "NoSchedule", "key": "node-role.kubernetes.io/control-plane"},
      {"effect": "NoSchedule", "key": "node.kubernetes.io/unschedulable", "timeAdded": "2026-01-01T00:00:00Z"},
      {"effect": "NoExecute", "key": "dedicated", "value": "db"}
    ]
  },
  "status": {
    "conditions": [
      {"type": "MemoryPressure", "status": "False"},
      {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    ],
    "nodeInfo": {"kubeletVersion": "v1.34.4", "osImage": "Ubuntu"}
  }
}`;

const POD = `{
  "metadata": {
    "name": "web-7d9f8-abcde", "namespace": "shop", "uid": "1111", "labels": {"app": "web", "pod-template-hash": "7d9f8"},
    "ownerReferences": [
      {"apiVersion": "example.org/v1", "kind": "Watcher", "name": "w", "uid": "2222"},
      {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d9f8", "uid": "3333", "controller": true, "blockOwnerDeletion": true}
    ]
  },
  "spec": {
    "nodeName": "node-1", "terminationGracePeriodSeconds": 5,
    "containers": [{"name": "web", "image": "registry.example.org/web:1.2"}],
    "volumes": [{"name": "cache", "emptyDir": {}}, {"name": "kube-api-access", "projected": {"sources": []}}],
    "tolerations": [
      {"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300},
      {"key": "dedicated", "value": "db"},
      {"operator": "Exists"}
    ]
  },
  "status": {"phase": "Running", "conditions": [{"type": "ContainersReady", "status": "True"}, {"type": "Ready", "status": "True"}]}
}`;

describe("a node", () => {
  it("is read with its role, its taints, its version and whether it is Ready", () => {
    expect(nodeFacts(parse<V1Node>(NODE))).toEqual({
      name: "cp-1",
      uid: "9f0c",
      kubeletVersion: "v1.34.4",
      ready: true,
      unschedulable: true,
      controlPlane: true,
      labels: { "kubernetes.io/hostname": "cp-1", "node-role.kubernetes.io/control-plane": "" },
      annotations: { "node.alpha.kubernetes.io/ttl": "0" },
      taints: [
        { key: "node-role.kubernetes.io/control-plane", value: "", effect: "NoSchedule" },
        { key: "node.kubernetes.io/unschedulable", value: "", effect: "NoSchedule" },
        { key: "dedicated", value: "db", effect: "NoExecute" },
      ],
    });
  });

  it.each([["False"], ["Unknown"]])("is not Ready while its condition says %s", (status) => {
    const text = NODE.replace('"type": "Ready", "status": "True"', `"type": "Ready", "status": "${status}"`);
    expect(nodeFacts(parse<V1Node>(text)).ready).toBe(false);
  });

  it("that has just joined is not Ready and has no version", () => {
    expect(nodeFacts(parse<V1Node>('{"metadata": {"name": "a", "uid": "1"}}'))).toMatchObject({
      ready: false,
      kubeletVersion: "",
      unschedulable: false,
      controlPlane: false,
    });
  });
});

describe("a pod", () => {
  it("is read with its controller, its emptyDirs and its tolerations", () => {
    expect(podFacts(parse<V1Pod>(POD))).toEqual({
      namespace: "shop",
      name: "web-7d9f8-abcde",
      uid: "1111",
      nodeName: "node-1",
      labels: { app: "web", "pod-template-hash": "7d9f8" },
      phase: "Running",
      ready: true,
      terminating: false,
      controller: { kind: "ReplicaSet", name: "web-7d9f8", uid: "3333" },
      mirror: false,
      emptyDirs: ["cache"],
      images: ["registry.example.org/web:1.2"],
      gracePeriodSeconds: 5,
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", value: "", effect: "NoExecute" },
        { key: "dedicated", operator: "Equal", value: "db", effect: "" },
        { key: "", operator: "Exists", value: "", effect: "" },
      ],
    });
  });

  it("that is pending, ending or static is read as such", () => {
    const pending = parse<V1Pod>(
      '{"metadata": {"name": "a", "namespace": "b"}, "status": {"phase": "Pending"}}',
    );
    expect(podFacts(pending)).toMatchObject({
      nodeName: null,
      ready: false,
      gracePeriodSeconds: 30,
      controller: null,
    });
    const ending = parse<V1Pod>('{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}');
    expect(podFacts(ending)).toMatchObject({ terminating: true, phase: "Unknown" });
    const mirror = parse<V1Pod>('{"metadata": {"annotations": {"kubernetes.io/config.mirror": "abc"}}}');
    expect(podFacts(mirror).mirror).toBe(true);
  });

  it("is not controlled by an owner that only owns it", () => {
    const pod = parse<V1Pod>(
      '{"metadata": {"ownerReferences": [{"kind": "Watcher", "name": "w", "uid": "2"}]}}',
    );
    expect(podFacts(pod).controller).toBeNull();
  });
});

describe("a budget", () => {
  const budget = (
    status: object,
    spec: object = { minAvailable: "50%", selector: {} },
  ): V1PodDisruptionBudget =>
    parse(JSON.stringify({ metadata: { name: "b", namespace: "n", generation: 2 }, spec, status }));
  const counted = { expectedPods: 4, currentHealthy: 4, desiredHealthy: 2, disruptionsAllowed: 2 };

  it("is read with percentages, selector and status", () => {
    const spec = {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: "AlwaysAllow",
      selector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "x", operator: "Exists" }] },
    };
    expect(budgetFacts(budget({ ...counted, observedGeneration: 2 }, spec))).toEqual({
      namespace: "n",
      name: "b",
      selector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "x", operator: "Exists", values: [] }] },
      minAvailable: null,
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: "AlwaysAllow",
      status: counted,
    });
  });

  it("has no status before the disruption controller has seen this generation", () => {
    expect(budgetFacts(budget({ ...counted, observedGeneration: 1 })).status).toBeNull();
    expect(budgetFacts(budget({})).status).toBeNull();
  });

  it("tells an empty selector, which selects all, from none, which selects nothing", () => {
    expect(budgetFacts(budget({})).selector).toEqual({ matchLabels: {}, matchExpressions: [] });
    expect(budgetFacts(budget({}, { minAvailable: 1 })).selector).toBeNull();
  });
});

describe("the inventory of a cluster", () => {
  it("holds identity, version, nodes by name, pods, budgets and workloads", async () => {
    const fake = await FakeCluster.start();
    fake.node("b");
    fake.node("a");
    fake.put("/api/v1/namespaces", { metadata: { name: "shop", annotations: { owner: "team" } } });
    fake.workload("web", 2, ["a"], 1);
    fake.put("/apis/apps/v1/daemonsets", {
      metadata: { namespace: "shop", name: "logs", uid: "1" },
      spec: {},
    });
    const inventory = await readInventory(fake.server.api);
    expect(inventory.cluster).toEqual({ uid: "cluster-uid", serverVersion: "v1.34.4" });
    expect(inventory.namespaces).toEqual([
      { name: "kube-system", annotations: {} },
      { name: "shop", annotations: { owner: "team" } },
    ]);
    expect(inventory.nodes.map((node) => node.name)).toEqual(["a", "b"]);
    expect(inventory.pods.map((pod) => pod.name)).toEqual(["web-0", "web-1"]);
    expect(inventory.budgets.map((budget) => budget.name)).toEqual(["web-pdb"]);
    expect(inventory.workloads.map((one) => [one.kind, one.name, one.replicas, one.readyReplicas])).toEqual([
      ["ReplicaSet", "web-rs", 2, 2],
      ["DaemonSet", "logs", null, 0],
    ]);
    expect(fake.all(BUDGETS)).toHaveLength(1);
    expect(fake.all(NODES)).toHaveLength(2);
    expect(fake.server.asked.every((one) => one.method === "GET")).toBe(true);
  });
});
