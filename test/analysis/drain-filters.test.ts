import { describe, expect, test } from "vitest";
import { comebackFindings, tolerates } from "../../analysis/comeback.ts";
import { classifyPods, drainFindings, podKey } from "../../analysis/drain-filters.ts";
import type { PodFacts, Taint, Toleration } from "../../analysis/inventory.ts";
import { deployment, inventory, node, pod, toleration, workload } from "./facts.ts";

const owner = (kind: string, name: string) => ({ kind, name, uid: `uid-${kind}-${name}` });

const onNode: PodFacts[] = [
  pod("debug-shell"),
  pod("dash-7d9", { controller: owner("ReplicaSet", "dash"), emptyDirs: ["cache"] }),
  pod("log-agent-q2", { controller: owner("DaemonSet", "log-agent"), emptyDirs: ["buffer"] }),
  pod("etcd-ip-10-0-1-20", { controller: owner("Node", "ip-10-0-1-20"), mirror: true }),
  pod("migrate-1", { phase: "Succeeded", emptyDirs: ["work"] }),
];
const workloads = [workload("DaemonSet", "log-agent", { replicas: null }), workload("ReplicaSet", "dash")];
const names = (pods: readonly { readonly pod: PodFacts }[]): string[] =>
  pods.map(({ pod: { name } }) => name);

describe("DRN-01 what a drain may delete, pod by pod", () => {
  test("refuses exactly the unmanaged pod and the one with emptyDir, by name and with the reason", () => {
    const buckets = classifyPods(onNode, { workloads });
    expect(names(buckets.refuse)).toEqual(["debug-shell", "dash-7d9"]);
    expect(names(buckets.skip)).toEqual(["log-agent-q2", "etcd-ip-10-0-1-20", "migrate-1"]);
    expect(buckets.evict).toEqual([]);
    const findings = drainFindings(buckets);
    expect(findings.map(({ code, severity, subject }) => `${severity} ${code} ${subject}`)).toEqual([
      "refuse DRAIN-UNMANAGED pod shop/debug-shell",
      "refuse DRAIN-EMPTYDIR pod shop/dash-7d9",
    ]);
    expect(findings[0]?.message).toContain("will not come back");
    expect(findings[1]?.message).toContain("emptyDir data is lost (cache)");
  });

  test("an acknowledgement lets its own pod go, warns, and does nothing for others", () => {
    const acknowledged = ["shop/debug-shell"];
    const buckets = classifyPods(onNode, { workloads, acknowledged });
    expect(names(buckets.evict)).toEqual(["debug-shell"]);
    expect(names(buckets.refuse)).toEqual(["dash-7d9"]);
    expect(drainFindings(buckets, acknowledged).map(({ code }) => code)).toEqual([
      "DRAIN-EMPTYDIR",
      "DRAIN-ACKNOWLEDGED",
    ]);
  });

  test.each(["debug-shell", "ops/debug-shell", "*", "shop/*", "shop/debug-shel"])(
    "%j acknowledges nothing",
    (key) => {
      const buckets = classifyPods(onNode, { workloads, acknowledged: [key] });
      expect(names(buckets.refuse)).toEqual(["debug-shell", "dash-7d9"]);
      expect(drainFindings(buckets, [key]).filter(({ severity }) => severity === "warn")).toHaveLength(1);
    },
  );

  test("a misspelt acknowledgement is answered with the pod that was meant", () => {
    const buckets = classifyPods(onNode, { workloads, acknowledged: ["shop/debug-shel"] });
    expect(drainFindings(buckets, ["shop/debug-shel"]).at(-1)?.message).toContain(
      'did you mean "shop/debug-shell"?',
    );
  });

  test.each<[string, Partial<PodFacts>, string, string]>([
    ["a finished pod that failed", { phase: "Failed" }, "skip", "finished"],
    ["a pod of a Job", { controller: owner("Job", "nightly") }, "evict", "none"],
    [
      "a pending pod of a ReplicaSet",
      { phase: "Pending", controller: owner("ReplicaSet", "dash") },
      "evict",
      "none",
    ],
    ["a static pod without the annotation", { controller: owner("Node", "n") }, "skip", "mirror"],
    ["a pod of a DaemonSet that is gone", { controller: owner("DaemonSet", "gone") }, "refuse", "daemon-set"],
    [
      "a finished pod of a DaemonSet that is gone",
      { controller: owner("DaemonSet", "gone"), phase: "Failed" },
      "skip",
      "finished",
    ],
    ["an unmanaged pod that is terminating", { terminating: true }, "skip", "terminating"],
    ["an unmanaged pod that is pending", { phase: "Pending" }, "refuse", "unmanaged"],
    ["an unmanaged pod with emptyDir", { emptyDirs: ["a", "b"] }, "refuse", "unmanaged"],
  ])("%s: %j is %s by %s", (_name, more, behaviour, by) => {
    const buckets = classifyPods([pod("x", more)], { workloads });
    const [decision] = [...buckets.evict, ...buckets.skip, ...buckets.refuse];
    expect(decision).toMatchObject({ behaviour, by });
  });

  test("all objections to a pod are in its one refusal", () => {
    const buckets = classifyPods([pod("x", { emptyDirs: ["a", "b"] })], { workloads });
    expect(buckets.refuse[0]?.reason).toBe(
      "has no controller and will not come back; its emptyDir data is lost (a, b)",
    );
  });

  test("a terminating pod is waited for, a skipped DaemonSet pod is not", () => {
    const going = pod("going", { terminating: true, controller: owner("ReplicaSet", "dash") });
    const buckets = classifyPods([...onNode, going], { workloads });
    expect(names(buckets.waitFor)).toEqual(["going"]);
  });

  test("workloads that were not read say nothing against a DaemonSet's pod", () => {
    const agent = onNode.filter(({ name }) => name === "log-agent-q2");
    expect(classifyPods(agent, { workloads: null }).refuse).toEqual([]);
    expect(classifyPods(agent, { workloads: [] }).refuse).toHaveLength(1);
  });

  test("each pod is in exactly one bucket", () => {
    const { evict, skip, refuse } = classifyPods(onNode, { workloads });
    expect([...evict, ...skip, ...refuse].map(({ pod: one }) => podKey(one)).sort()).toEqual(
      onNode.map(podKey).sort(),
    );
  });
});

describe("DRN-02 tolerations that bring the pod back", () => {
  const migration: Taint = { key: "migration", value: "migration", effect: "NoSchedule" };
  const check = (
    tolerations: Toleration[],
    options: Parameters<typeof comebackFindings>[2] = {},
    taints: Taint[] = [],
  ) => {
    const { workload: owning, pods } = deployment("cni-operator", 1);
    const leaving = pods.map((one) => ({ ...one, tolerations }));
    const given = inventory({ nodes: [node("old-1", { taints })], pods: leaving, workloads: [owning] });
    return comebackFindings(given, leaving, options);
  };
  const CORDON = "node.kubernetes.io/unschedulable";

  test.each<[string, Partial<Toleration>, boolean]>([
    ["no key, any effect", {}, true],
    ["no key, NoSchedule", { effect: "NoSchedule" }, true],
    ["no key, NoExecute only", { effect: "NoExecute" }, false],
    ["no key, PreferNoSchedule only", { effect: "PreferNoSchedule" }, false],
    ["no key with Equal is no toleration at all", { operator: "Equal" }, false],
    ["the cordon's key", { key: CORDON }, true],
    ["the cordon's key, Equal to its empty value", { key: CORDON, operator: "Equal" }, true],
    ["the cordon's key, Equal to another value", { key: CORDON, operator: "Equal", value: "x" }, false],
    [
      "the control plane's key",
      { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" },
      false,
    ],
    ["the migration's key", { key: "migration" }, false],
  ])("%s: %j blocks: %s", (_name, more, expected) => {
    expect(check([toleration(more)]).map(({ code }) => code)).toEqual(expected ? ["DRAIN-COMES-BACK"] : []);
  });

  test("one more taint does not stop a toleration without a key, but stops one with the cordon's key", () => {
    expect(check([toleration({})], { extraTaints: [migration] })).toHaveLength(1);
    expect(check([toleration({ key: CORDON })], { extraTaints: [migration] })).toEqual([]);
    expect(
      check([toleration({ key: CORDON }), toleration({ key: "migration" })], { extraTaints: [migration] }),
    ).toHaveLength(1);
    expect(check([toleration({ key: CORDON })], {}, [{ ...migration, effect: "NoExecute" }])).toEqual([]);
    expect(
      check([toleration({ key: CORDON })], {}, [{ ...migration, effect: "PreferNoSchedule" }]),
    ).toHaveLength(1);
  });

  test("the finding names the workload, and offers an affinity", () => {
    const [found] = check([toleration({})]);
    expect(found).toMatchObject({ severity: "refuse", subject: "Deployment cni-operator in shop" });
    expect(found?.message).toContain("old-1");
    expect(found?.repair).toContain("temporary node affinity");
  });

  test("a workload that an affinity keeps away is not reported", () => {
    expect(check([toleration({})], { keptAway: ["shop/cni-operator"] })).toEqual([]);
  });

  test("a workload is reported once; DaemonSets, static and unmanaged pods are not", () => {
    const everything = { tolerations: [toleration({})] };
    const { workload: owning, pods } = deployment("op", 3);
    const given = inventory({ workloads: [owning, workload("DaemonSet", "agent", { replicas: null })] });
    const leaving = [
      ...pods.map((one) => ({ ...one, ...everything })),
      pod("agent-1", { ...everything, controller: owner("DaemonSet", "agent") }),
      pod("static", { ...everything, controller: owner("Node", "old-1"), mirror: true }),
      pod("lone", everything),
    ];
    expect(comebackFindings(given, leaving).map(({ subject }) => subject)).toEqual(["Deployment op in shop"]);
  });

  test("tolerates follows the API's rules for value and effect", () => {
    expect(
      tolerates(toleration({ key: "migration", operator: "Equal", value: "migration" }), migration),
    ).toBe(true);
    expect(tolerates(toleration({ key: "migration", operator: "Equal", value: "other" }), migration)).toBe(
      false,
    );
    expect(tolerates(toleration({ key: "migration", effect: "NoExecute" }), migration)).toBe(false);
  });
});
