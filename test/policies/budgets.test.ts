/** Budgets that a stack declares beside the workloads they select: analysis/budgets.ts, asked at preview. */
import { describe, expect, test } from "vitest";
import type { ResourceView } from "../../policies/view.ts";
import { reports } from "./judge.ts";
import { resource, UNKNOWN, urn } from "./program.ts";

const labels = { app: "web" };

const deployment = (replicas: unknown, kind = "Deployment"): ResourceView =>
  resource({
    urn: urn(`kubernetes:apps/v1:${kind}`, "web"),
    props: {
      metadata: { name: "web", namespace: "shop", uid: UNKNOWN },
      spec: { ...(replicas === undefined ? {} : { replicas }), template: { metadata: { labels } } },
    },
  });

const budget = (spec: Record<string, unknown>, name = "web-pdb"): ResourceView =>
  resource({
    urn: urn("kubernetes:policy/v1:PodDisruptionBudget", name),
    props: { metadata: { name, namespace: "shop" }, spec: { selector: { matchLabels: labels }, ...spec } },
  });

const found = (views: readonly ResourceView[], level: "mandatory" | "advisory" = "mandatory") =>
  reports(views, level).map(({ rule, at, message }) => `${rule} ${at}: ${message}`);

describe("a budget that never allows an eviction is refused, its workload and the repairs named", () => {
  test("as many wanted as there are (PDB-01)", () => {
    const [only, ...more] = found([deployment(1), budget({ minAvailable: 1 })]);
    expect(more).toEqual([]);
    expect(only).toContain(
      "drain-needs-budget web-pdb: PodDisruptionBudget shop/web-pdb: minAvailable: 1 wants 1 healthy of 1",
    );
    expect(only).toContain("raise the replicas of Deployment web to 2, or set maxUnavailable: 1");
  });

  test("none may be unavailable, at any size (PDB-02)", () => {
    const [only] = found([deployment(20), budget({ maxUnavailable: 0 })]);
    expect(only).toContain("never allows an eviction, however many pods there are");
    expect(only).not.toMatch(/raise the replicas/);
  });

  test.each<[number, Record<string, unknown>, boolean]>([
    [3, { maxUnavailable: "40%" }, true],
    [7, { minAvailable: "50%" }, true],
    [3, { minAvailable: "67%" }, false],
    [3, { minAvailable: "66%" }, true],
    [10, { minAvailable: "91%" }, false],
  ])("%i replicas and %j (PDB-06): allowed is %s", (replicas, spec, allowed) => {
    expect(found([deployment(replicas), budget(spec)])).toHaveLength(allowed ? 0 : 1);
  });

  test("without replicas a Deployment has one; a StatefulSet counts as well", () => {
    expect(found([deployment(undefined), budget({ minAvailable: 1 })])).toHaveLength(1);
    expect(found([deployment(3, "StatefulSet"), budget({ minAvailable: 3 })])[0]).toContain(
      "StatefulSet web",
    );
  });

  test("two budgets over one pod", () => {
    const two = [deployment(3), budget({ minAvailable: 1 }), budget({ minAvailable: 1 }, "second")];
    expect(found(two)[0]).toMatch(/PodDisruptionBudgets (web-pdb, second|second, web-pdb) in shop/);
    expect(found(two)).toHaveLength(1);
  });

  test("a workload that is not there yet, or scaled to nothing, is no reason", () => {
    expect(found([budget({ minAvailable: 1 })])).toEqual([]);
    expect(found([deployment(0), budget({ minAvailable: 1 })])).toEqual([]);
  });
});

describe("a budget that protects little gets advice", () => {
  test("the only pod may go (PDB-03)", () => {
    const views = [deployment(1), budget({ maxUnavailable: 1 })];
    expect(found(views)).toEqual([]);
    expect(found(views, "advisory")[0]).toMatch(
      /^budget-protects web-pdb: .*a gap until a substitute is Ready/,
    );
  });

  test("it selects a label that its Deployment's pods do not have (PDB-04)", () => {
    const views = [
      deployment(2),
      budget({ minAvailable: 1, selector: { matchLabels: { app: "web", "part-of": "shop" } } }),
    ];
    expect(found(views)).toEqual([]);
    expect(found(views, "advisory")[0]).toMatch(/^budget-protects web-pdb: .*budget protects nothing/);
  });
});

describe("what is not known yet is not decided", () => {
  test.each<[string, ResourceView[], string]>([
    ["replicas", [deployment(UNKNOWN), budget({ minAvailable: 1 })], "'web': `spec.replicas`"],
    ["the amount", [deployment(1), budget({ minAvailable: UNKNOWN })], "'web-pdb': `spec.minAvailable`"],
    [
      "a label",
      [deployment(1), budget({ minAvailable: 1, selector: { matchLabels: { app: UNKNOWN } } })],
      "'web-pdb': `spec.selector.matchLabels.app`",
    ],
  ])("%s", (_, views, where) => {
    expect(found(views)).toEqual([]);
    expect(found(views, "advisory")[0]).toContain(
      `not decided: drain-needs-budget at ${where} is not known yet`,
    );
  });

  test("and hides no fault of another budget", () => {
    const views = [deployment(1), budget({ minAvailable: 1 }), budget({ minAvailable: UNKNOWN }, "second")];
    expect(found(views)).toHaveLength(1);
  });
});
