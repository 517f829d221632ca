import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BudgetIndex,
  allowedDisruptions,
  budgetRule,
  desiredHealthy,
  neverAllows,
  percentOf,
  podsToAllowOne,
} from "../../analysis/budgets.ts";
import type { BudgetFacts, LabelSelector } from "../../analysis/inventory.ts";
import { matchesSelector } from "../../analysis/selectors.ts";
import { budget, pod } from "./facts.ts";

const fields = (field: "minAvailable" | "maxUnavailable", value: number | string) => ({
  minAvailable: field === "minAvailable" ? value : null,
  maxUnavailable: field === "maxUnavailable" ? value : null,
});

describe("PDB-06 percentages round up on both fields", () => {
  test.each<[number, "minAvailable" | "maxUnavailable", number | string, number]>([
    [3, "maxUnavailable", "40%", 2],
    [1, "maxUnavailable", "30%", 1],
    [7, "minAvailable", "50%", 3],
    [3, "minAvailable", "67%", 0],
    [3, "minAvailable", "66%", 1],
    [10, "minAvailable", "91%", 0],
    [10, "minAvailable", "90%", 1],
    [20, "maxUnavailable", "10%", 2],
    [21, "maxUnavailable", "10%", 3],
    [100, "minAvailable", "29%", 71],
    [3, "minAvailable", 2, 1],
    [3, "minAvailable", 4, 0],
    [3, "maxUnavailable", 5, 3],
    [0, "maxUnavailable", 1, 0],
    [5, "minAvailable", "0%", 5],
    [5, "maxUnavailable", "100%", 5],
  ])("%i pods, %s %s: %i may go when all are healthy", (pods, field, value, allowed) => {
    expect(allowedDisruptions(fields(field, value), { expected: pods, healthy: pods })).toBe(allowed);
  });

  test("nothing may go while no pods are expected, whoever is healthy", () => {
    expect(allowedDisruptions(fields("maxUnavailable", 1), { expected: 0, healthy: 2 })).toBe(0);
    expect(
      allowedDisruptions({ minAvailable: null, maxUnavailable: null }, { expected: 3, healthy: 3 }),
    ).toBe(0);
  });

  test("rounding equals the exact rational ceiling", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100 }),
        fc.integer({ min: 0, max: 2 ** 31 - 1 }),
        (percent, pods) => {
          const product = BigInt(percent) * BigInt(pods);
          const ceiling = product / 100n + (product % 100n === 0n ? 0n : 1n);
          expect(BigInt(percentOf(percent, pods))).toBe(ceiling);
        },
      ),
    );
  });

  test("an allowed eviction never takes the healthy below the desired", () => {
    const value = fc.oneof(
      fc.nat(30),
      fc.nat(100).map((percent) => `${percent}%`),
    );
    fc.assert(
      fc.property(
        fc.constantFrom("minAvailable", "maxUnavailable"),
        value,
        fc.nat(30),
        fc.nat(30),
        (field, number, expected, healthy) => {
          const given = fields(field, number);
          const allowed = allowedDisruptions(given, { expected, healthy });
          expect(allowed).toBeGreaterThanOrEqual(0);
          if (allowed > 0) expect(healthy - allowed).toBeGreaterThanOrEqual(desiredHealthy(given, expected));
          if (neverAllows(given)) expect(allowedDisruptions(given, { expected, healthy: expected })).toBe(0);
        },
      ),
    );
  });

  test("podsToAllowOne is the smallest count that lets one go", () => {
    const value = fc.oneof(
      fc.nat(30),
      fc.nat(100).map((percent) => `${percent}%`),
    );
    fc.assert(
      fc.property(fc.constantFrom("minAvailable", "maxUnavailable"), value, (field, number) => {
        const given = fields(field, number);
        const enough = podsToAllowOne(given);
        if (enough === null) {
          expect(neverAllows(given)).toBe(true);
          return;
        }
        expect(allowedDisruptions(given, { expected: enough, healthy: enough })).toBeGreaterThan(0);
        expect(allowedDisruptions(given, { expected: enough - 1, healthy: enough - 1 })).toBe(0);
      }),
    );
  });

  test.each<[unknown, unknown, string]>([
    [1, 1, "only one may be"],
    ["1", null, "neither a number nor a percentage"],
    ["101%", null, "neither a number nor a percentage"],
    ["12.5%", null, "neither a number nor a percentage"],
    [-1, null, "no whole number"],
    [1.5, null, "no whole number"],
  ])("minAvailable %j with maxUnavailable %j is no budget", (minAvailable, maxUnavailable, why) => {
    const given = { minAvailable, maxUnavailable } as Pick<BudgetFacts, "minAvailable" | "maxUnavailable">;
    expect(budgetRule(given)).toMatchObject({
      field: "invalid",
      why: expect.stringContaining(why) as string,
    });
    expect(() => desiredHealthy(given, 3)).toThrow(RangeError);
  });
});

describe("BudgetIndex", () => {
  const labels = fc.dictionary(fc.constantFrom("app", "tier"), fc.constantFrom("a", "b"));
  const selector = fc.option(
    fc.record<LabelSelector>({
      matchLabels: labels,
      matchExpressions: fc.array(
        fc.record({
          key: fc.constantFrom("app", "tier"),
          operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist"),
          values: fc.array(fc.constantFrom("a", "b"), { maxLength: 2 }),
        }),
        { maxLength: 2 },
      ),
    }),
  );

  test("finds exactly the budgets of the pod's namespace whose selector matches", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("shop", "ops"), selector), { maxLength: 6 }),
        labels,
        (given, own) => {
          const budgets = given.map(([namespace, one], index) =>
            budget(`b${index}`, { namespace, selector: one }),
          );
          const found = new BudgetIndex(budgets).covering(pod("p", { labels: own }));
          const right = budgets.filter((b) => b.namespace === "shop" && matchesSelector(b.selector, own));
          expect(new Set(found)).toEqual(new Set(right));
          expect(found).toHaveLength(right.length);
        },
      ),
    );
  });
});
