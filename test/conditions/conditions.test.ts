/** Every condition of the registry: when it holds, when it does not, and when it was not given what it looks at. */
import { describe, expect, it } from "vitest";
import { CONDITIONS, judge, type ConditionName } from "../../analysis/conditions/index.ts";
import { world, type Case } from "./case.ts";
import { nodeCases } from "./node-cases.ts";
import { workloadCases } from "./workload-cases.ts";

const cases: readonly Case[] = [...nodeCases, ...workloadCases];

describe("each condition", () => {
  it.each(cases.map((one) => [one.says, one] as const))("%s", (_, one) => {
    const found = judge(one.world, one.demand);
    const seen = found.map((finding) => `${finding.severity} ${finding.code}`);
    const [wanted] = one.finds;
    if (wanted === "*") expect(found.filter((finding) => finding.severity !== "warn")).not.toEqual([]);
    else if (wanted === "~warn") expect(seen.filter((text) => !text.startsWith("warn"))).toEqual([]);
    else if (wanted === "refuse") expect(seen.join()).toContain("refuse ");
    else expect(seen).toEqual(one.finds);
    if (one.names !== undefined) {
      const [first] = found;
      expect(`${first?.subject ?? ""} ${first?.message ?? ""}`).toContain(one.names);
    }
    for (const finding of found) {
      expect([finding.subject, finding.message, finding.rule, finding.repair]).not.toContain("");
    }
  });

  it("is tried here, holding and not holding", () => {
    const tried = (holds: boolean): string[] => [
      ...new Set(
        cases.filter((one) => (one.finds.length === 0) === holds).map((one) => one.demand.condition),
      ),
    ];
    expect(tried(true).sort()).toEqual(Object.keys(CONDITIONS).sort());
    expect(tried(false).sort()).toEqual(Object.keys(CONDITIONS).sort());
  });
});

describe("the registry", () => {
  it("holds these conditions and no others: gates of stacks under way refer to them by name", () => {
    expect(Object.keys(CONDITIONS)).toEqual([
      "artefact",
      "budget-present",
      "budgets-healthy",
      "control-plane-version",
      "cordoned",
      "drain-allowed",
      "etcd-healthy",
      "kubelet-version",
      "namespace-own",
      "node-empty",
      "nodes-as-reviewed",
      "nodes-exist",
      "nodes-labelled",
      "nodes-ready",
      "only-cordoned",
      "skew-supported",
      "upgrade-path",
      "workload-ready",
      "workloads-ready",
    ]);
  });

  const demands = new Map(cases.map((one) => [one.demand.condition, one.demand.with]));

  it.each(Object.keys(CONDITIONS) as ConditionName[])(
    "%s takes no parameter that it does not know",
    (name) => {
      const { params } = CONDITIONS[name];
      expect(params.safeParse(demands.get(name)).success).toBe(true);
      expect(params.safeParse({ ...demands.get(name), extra: 1 }).success).toBe(false);
    },
  );

  it("throws for bad parameters instead of taking them for a condition that holds", () => {
    expect(() => judge(world(), { condition: "cordoned", with: { node: ["a"] } } as never)).toThrow();
  });
});
