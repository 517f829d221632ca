import { describe, expect, test } from "vitest";
import { budgetFindings } from "../../analysis/budget-findings.ts";
import { budgetRule, desiredHealthy, unprotectedPods } from "../../analysis/budgets.ts";
import type { Finding } from "../../analysis/finding.ts";
import type { BudgetFacts, Inventory, PodFacts } from "../../analysis/inventory.ts";
import { budget, deployment, inventory, pod, select, status, workload } from "./facts.ts";

interface Scene {
  readonly inventory: Inventory;
  readonly leaving: readonly PodFacts[];
}

/** One Deployment under one budget, all of whose pods on old-1 are to leave. */
function scene(
  replicas: number,
  given: Partial<BudgetFacts>,
  options: { unready?: number; nodes?: readonly string[]; server?: string } = {},
): Scene {
  const { workload: owner, pods } = deployment("orders", replicas, options);
  const healthy = replicas - (options.unready ?? 0);
  const filled = budget("orders", given);
  const rule = budgetRule(filled);
  const desired = rule.field === "invalid" ? 0 : desiredHealthy(filled, replicas);
  const one: BudgetFacts = {
    ...filled,
    status: given.status === undefined ? status(replicas, healthy, desired) : given.status,
  };
  const serverVersion = options.server ?? "v1.34.4";
  return {
    inventory: inventory({ cluster: { uid: "u", serverVersion }, pods, budgets: [one], workloads: [owner] }),
    leaving: pods.filter(({ nodeName }) => nodeName === "old-1"),
  };
}

const findings = ({ inventory: given, leaving }: Scene): Finding[] => budgetFindings(given, leaving);
const codes = (given: Scene): string[] => findings(given).map(({ code, severity }) => `${severity} ${code}`);
const first = (given: Scene): Finding => {
  const [found] = findings(given);
  if (found === undefined) throw new Error("nothing found");
  return found;
};

describe("PDB-01 a budget that equals the replica count", () => {
  test("is refused, with budget, workload and both repairs", () => {
    const found = first(scene(1, { minAvailable: 1 }));
    expect(found).toMatchObject({
      code: "PDB-BLOCKS",
      severity: "refuse",
      subject: "PodDisruptionBudget shop/orders",
    });
    expect(found.message).toContain("Deployment orders");
    expect(found.repair).toContain("raise the replicas of Deployment orders to 2");
    expect(found.repair).toContain("set maxUnavailable: 1 in the budget instead and accept a short outage");
  });

  test.each<[number, Partial<BudgetFacts>, number]>([
    [3, { minAvailable: 3 }, 4],
    [2, { minAvailable: 5 }, 6],
    [3, { minAvailable: "67%" }, 4],
    [10, { minAvailable: "91%" }, 12],
    [1, { minAvailable: "1%" }, 2],
    [50, { minAvailable: "99%" }, 100],
  ])("%i replicas under %j are refused; %i would do", (replicas, given, enough) => {
    const found = first(scene(replicas, given));
    expect(found.code).toBe("PDB-BLOCKS");
    expect(found.repair).toContain(`to ${enough},`);
  });

  test("is refused too while the pod is not ready: once it is, it blocks", () => {
    expect(codes(scene(1, { minAvailable: 1 }, { unready: 1 }))).toEqual(["refuse PDB-BLOCKS"]);
  });

  test("with half of its pods still to come a budget is only waited for", () => {
    const given = scene(3, { minAvailable: 2, status: status(1, 1, 2) });
    expect(codes({ ...given, leaving: given.leaving.slice(0, 1) })).toEqual(["hold PDB-WAITS"]);
  });
});

describe("PDB-02 a budget that never allows an eviction", () => {
  test.each<[Partial<BudgetFacts>]>([
    [{ maxUnavailable: 0 }],
    [{ maxUnavailable: "0%" }],
    [{ minAvailable: "100%" }],
    [{ minAvailable: null, maxUnavailable: null }],
  ])("%j is refused at any replica count, without the advice to add pods", (given) => {
    for (const replicas of [1, 2, 50]) {
      const found = first(scene(replicas, given));
      expect(found).toMatchObject({ code: "PDB-NEVER", severity: "refuse" });
      expect(`${found.message} ${found.repair}`).not.toMatch(/replica|scale/i);
      expect(found.repair).toMatch(/maxUnavailable/);
    }
  });

  test("is decided without any status", () => {
    expect(codes(scene(2, { maxUnavailable: 0, status: null }))).toEqual(["refuse PDB-NEVER"]);
  });
});

describe("PDB-03 budgets that let a drain go on", () => {
  test("one replica with maxUnavailable 1 goes, with a warning of the gap", () => {
    const found = findings(scene(1, { maxUnavailable: 1 }));
    expect(found.map(({ code, severity }) => [code, severity])).toEqual([["PDB-GAP", "warn"]]);
    expect(found[0]?.message).toContain("gap until a substitute is Ready");
  });

  test.each<[number, Partial<BudgetFacts>, string[], readonly string[]]>([
    [1, { maxUnavailable: "30%" }, ["warn PDB-GAP"], ["old-1"]],
    [1, { minAvailable: 0 }, ["warn PDB-GAP"], ["old-1"]],
    [3, { maxUnavailable: 3 }, ["warn PDB-GAP"], ["old-1"]],
    [3, { maxUnavailable: 3 }, [], ["old-1", "old-2"]],
    [3, { minAvailable: 2 }, [], ["old-1"]],
    [3, { maxUnavailable: "40%" }, [], ["old-1"]],
    [7, { minAvailable: "50%" }, [], ["old-1"]],
    [3, { minAvailable: "66%" }, [], ["old-1"]],
  ])("%i replicas under %j: %j", (replicas, given, expected, nodes) => {
    expect(codes(scene(replicas, given, { nodes }))).toEqual(expected);
  });
});

describe("PDB-04 a budget that selects no pods", () => {
  const web = deployment("web", 2);
  const empty = budget("web", {
    minAvailable: 1,
    selector: select({ app: "web", "part-of": "shop" }),
    status: status(0, 0, 1),
  });
  const given = inventory({ pods: web.pods, workloads: [web.workload], budgets: [empty] });

  test("warns that it protects nothing, and does not block", () => {
    const found = budgetFindings(given, web.pods);
    expect(found.map(({ code, severity }) => [code, severity])).toEqual([["PDB-PROTECTS-NOTHING", "warn"]]);
    expect(found[0]?.message).toContain("budget protects nothing");
    expect(found[0]?.message).toContain("Deployment web");
  });

  test("warns too where only the name tells for whom it was meant, or where it has no selector", () => {
    for (const selector of [select({ app: "wbe" }), null]) {
      const budgets = [{ ...empty, selector }];
      expect(budgetFindings({ ...given, budgets }, web.pods).map(({ code }) => code)).toEqual([
        "PDB-PROTECTS-NOTHING",
      ]);
    }
  });

  test("says nothing of empty budgets that have nothing to do with these pods", () => {
    const budgets = [
      budget("other", { minAvailable: 1, status: status(0, 0, 1) }),
      budget("web", { namespace: "elsewhere", minAvailable: 1, status: status(0, 0, 1) }),
    ];
    expect(budgetFindings({ ...given, budgets }, web.pods)).toEqual([]);
  });
});

describe("PDB-08 pods that are not ready", () => {
  const one = (given: Partial<BudgetFacts>, server = "v1.29.4"): Scene => {
    const full = scene(3, { minAvailable: 2, ...given }, { unready: 2, server });
    return { ...full, leaving: full.leaving.slice(0, 1) };
  };
  const ready = (given: Scene): Scene => ({ ...given, leaving: given.inventory.pods.filter((p) => p.ready) });

  test.each([null, "IfHealthyBudget"] as const)(
    "with %s a broken budget holds the pod and names it",
    (policy) => {
      const found = first(one({ unhealthyPodEvictionPolicy: policy }));
      expect(found).toMatchObject({ code: "PDB-UNHEALTHY", severity: "hold" });
      expect(found.message).toContain("orders-7d9f8-0");
      expect(found.repair).toContain("unhealthyPodEvictionPolicy: AlwaysAllow");
    },
  );

  test("with AlwaysAllow the pod that is not ready goes, a ready one is still held", () => {
    const given = one({ unhealthyPodEvictionPolicy: "AlwaysAllow" });
    expect(codes(given)).toEqual([]);
    expect(codes(ready(given))).toEqual(["hold PDB-WAITS"]);
  });

  test.each(["v1.25.16", "v1.26.9-eks-1", "v1.26.6+rke2r1"])(
    "on %s the policy is not known: not suggested, not honoured",
    (server) => {
      expect(first(one({}, server)).repair).not.toContain("unhealthyPodEvictionPolicy");
      expect(codes(one({ unhealthyPodEvictionPolicy: "AlwaysAllow" }, server))).toEqual([
        "hold PDB-UNHEALTHY",
      ]);
    },
  );

  test.each(["v1.27.0", "v1.27.1-gke.100", "v1.31.0"])("on %s the policy is known", (server) => {
    expect(first(one({}, server)).repair).toContain("unhealthyPodEvictionPolicy");
  });

  test("a budget that is met without the pod lets it go", () => {
    const full = scene(3, { minAvailable: 2 }, { unready: 1 });
    expect(codes({ ...full, leaving: full.leaving.slice(0, 1) })).toEqual([]);
  });

  test("one crashing replica with maxUnavailable 1 is held: nothing healthy, nothing allowed", () => {
    expect(codes(scene(1, { maxUnavailable: 1 }, { unready: 1 }))).toEqual(["hold PDB-UNHEALTHY"]);
    expect(
      codes(scene(1, { maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow" }, { unready: 1 })),
    ).toEqual([]);
  });
});

describe("what the API can't or does not yet answer", () => {
  test("without a status it is not decided", () => {
    expect(codes(scene(3, { minAvailable: 2, status: null }))).toEqual(["hold PDB-UNDECIDED"]);
    expect(codes(scene(3, { minAvailable: 2, status: status(0, 0, 2) }))).toEqual(["hold PDB-UNDECIDED"]);
  });

  test("evictions already granted are waited for", () => {
    const given = scene(3, { minAvailable: 2, status: { ...status(3, 3, 2), disruptionsAllowed: 0 } });
    expect(first(given)).toMatchObject({ code: "PDB-WAITS", severity: "hold" });
    expect(first(given).message).toContain("already granted");
  });

  test("a pod under two budgets is refused, with both named", () => {
    const base = scene(3, { minAvailable: 2 });
    const second = budget("everything", { selector: select({}), maxUnavailable: 1, status: status(3, 3, 2) });
    const found = findings({
      ...base,
      inventory: { ...base.inventory, budgets: [...base.inventory.budgets, second] },
    });
    expect(found.map(({ code }) => code)).toEqual(["PDB-OVERLAP"]);
    expect(found[0]?.subject).toContain("everything, orders");
    expect(found[0]?.message).toContain("Deployment orders");
  });

  test.each(["Job", "DaemonSet"])("a %s has no size to take a percentage of", (kind) => {
    const one = pod("run-1", { labels: { app: "run" }, controller: { kind, name: "run", uid: "" } });
    const of = (given: Partial<BudgetFacts>) =>
      budgetFindings(
        inventory({
          pods: [one],
          workloads: [workload(kind, "run", { replicas: null })],
          budgets: [budget("run", given)],
        }),
        [one],
      ).map(({ code }) => code);
    expect(of({ maxUnavailable: 1, status: status(0, 0, 0) })).toEqual(["PDB-UNCOUNTABLE"]);
    expect(of({ minAvailable: "50%", status: null })).toEqual(["PDB-UNCOUNTABLE"]);
    expect(of({ minAvailable: 0, status: status(1, 1, 0) })).toEqual(["PDB-GAP"]);
  });

  test("pods that nobody owns can't be counted either", () => {
    const lone = pod("lone", { labels: { app: "lone" } });
    const given = inventory({
      pods: [lone],
      budgets: [budget("lone", { maxUnavailable: 1, status: status(0, 1, 0) })],
    });
    expect(budgetFindings(given, [lone]).map(({ code }) => code)).toEqual(["PDB-UNCOUNTABLE"]);
  });

  test("a budget the API would not store is refused", () => {
    expect(codes(scene(3, { minAvailable: "2" }))).toEqual(["refuse PDB-INVALID"]);
  });

  test("pods that the eviction API deletes without asking budgets are never held", () => {
    const given = scene(1, { minAvailable: 1 });
    for (const more of [
      { phase: "Pending" },
      { phase: "Succeeded" },
      { phase: "Failed" },
      { terminating: true },
    ] as const) {
      expect(codes({ ...given, leaving: given.leaving.map((p) => ({ ...p, ...more })) })).toEqual([]);
    }
  });

  test("budgets over other pods say nothing, however bad they are", () => {
    const base = scene(1, { minAvailable: 1 });
    const web = deployment("web", 1);
    const given = {
      ...base.inventory,
      pods: [...base.inventory.pods, ...web.pods],
      workloads: [...base.inventory.workloads, web.workload],
    };
    expect(budgetFindings(given, web.pods)).toEqual([]);
    expect(unprotectedPods(given, [...web.pods, ...base.leaving])).toEqual(web.pods);
  });

  test("a budget over two workloads counts on both", () => {
    const [a, b] = [
      deployment("a", 1, { labels: { team: "x", app: "a" } }),
      deployment("b", 1, { labels: { team: "x", app: "b" } }),
    ];
    const of = (minAvailable: number): string[] =>
      budgetFindings(
        inventory({
          pods: [...a.pods, ...b.pods],
          workloads: [a.workload, b.workload],
          budgets: [
            budget("x", {
              selector: select({ team: "x" }),
              minAvailable,
              status: status(2, 2, minAvailable),
            }),
          ],
        }),
        a.pods,
      ).map(({ code }) => code);
    expect(of(1)).toEqual([]);
    expect(of(2)).toEqual(["PDB-BLOCKS"]);
  });
});
