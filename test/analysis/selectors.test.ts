import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LabelSelector, SelectorRequirement } from "../../analysis/inventory.ts";
import {
  matchesRequirement,
  matchesSelector,
  requiredPairs,
  selectorText,
} from "../../analysis/selectors.ts";
import { select } from "./facts.ts";

const expressions = (...matchExpressions: SelectorRequirement[]): LabelSelector => ({
  matchLabels: {},
  matchExpressions,
});
const labels = { app: "web", tier: "front" };

describe("matchesSelector", () => {
  test.each<[string, LabelSelector | null, boolean]>([
    ["null selects nothing", null, false],
    ["an empty selector selects all", select({}), true],
    ["all labels must match", select({ app: "web", tier: "front" }), true],
    ["one that differs is enough to miss", select({ app: "web", tier: "back" }), false],
    ["one that is absent is enough to miss", select({ app: "web", "part-of": "shop" }), false],
    ["In", expressions({ key: "app", operator: "In", values: ["a", "web"] }), true],
    ["In, key absent", expressions({ key: "zone", operator: "In", values: ["a"] }), false],
    ["In, no values", expressions({ key: "app", operator: "In", values: [] }), false],
    ["NotIn", expressions({ key: "app", operator: "NotIn", values: ["web"] }), false],
    ["NotIn, key absent", expressions({ key: "zone", operator: "NotIn", values: ["a"] }), true],
    ["Exists", expressions({ key: "app", operator: "Exists", values: [] }), true],
    ["Exists, key absent", expressions({ key: "zone", operator: "Exists", values: [] }), false],
    ["DoesNotExist", expressions({ key: "app", operator: "DoesNotExist", values: [] }), false],
    ["DoesNotExist, key absent", expressions({ key: "zone", operator: "DoesNotExist", values: [] }), true],
    [
      "a key that every JavaScript object has",
      expressions({ key: "constructor", operator: "Exists", values: [] }),
      false,
    ],
  ])("%s", (_name, selector, expected) => {
    expect(matchesSelector(selector, labels)).toBe(expected);
  });

  test("an empty value is a value", () => {
    expect(matchesSelector(select({ app: "" }), { app: "" })).toBe(true);
    expect(matchesSelector(select({ app: "" }), {})).toBe(false);
  });
});

const key = fc.constantFrom("app", "tier", "zone");
const value = fc.constantFrom("a", "b", "");
const someLabels = fc.dictionary(key, value);
const requirement = fc.record<SelectorRequirement>({
  key,
  operator: fc.constantFrom("In", "NotIn", "Exists", "DoesNotExist"),
  values: fc.array(value, { maxLength: 2 }),
});
const selector = fc.record<LabelSelector>({
  matchLabels: someLabels,
  matchExpressions: fc.array(requirement, { maxLength: 2 }),
});

describe("properties", () => {
  test("In and NotIn, Exists and DoesNotExist are each other's opposite", () => {
    fc.assert(
      fc.property(requirement, someLabels, (given, object) => {
        const opposite = (
          { In: "NotIn", NotIn: "In", Exists: "DoesNotExist", DoesNotExist: "Exists" } as const
        )[given.operator];
        expect(matchesRequirement({ ...given, operator: opposite }, object)).toBe(
          !matchesRequirement(given, object),
        );
      }),
    );
  });

  test("whatever is selected has one of the required pairs, so an index by them misses nothing", () => {
    fc.assert(
      fc.property(selector, someLabels, (given, object) => {
        const pairs = requiredPairs(given);
        if (!matchesSelector(given, object) || pairs === null) return;
        expect(pairs.some(([name, wanted]) => object[name] === wanted)).toBe(true);
      }),
    );
  });
});

test("selectorText reads like kubectl -l", () => {
  const given: LabelSelector = {
    matchLabels: { app: "web" },
    matchExpressions: [
      { key: "tier", operator: "In", values: ["a", "b"] },
      { key: "old", operator: "DoesNotExist", values: [] },
    ],
  };
  expect(selectorText(given)).toBe("app=web,tier in (a,b),!old");
  expect(selectorText(select({}))).toBe("every pod");
  expect(selectorText(null)).toBe("no selector");
});
