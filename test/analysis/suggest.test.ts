import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { didYouMean, editDistance, nearest } from "../../analysis/suggest.ts";

describe("editDistance", () => {
  test.each([
    ["", "", 0],
    ["drain", "drain", 0],
    ["", "abc", 3],
    ["drian", "drain", 1],
    ["drin", "drain", 1],
    ["drainn", "drain", 1],
    ["druin", "drain", 1],
    ["kitten", "sitting", 3],
    ["ノード", "ノート", 1],
  ])("%s to %s is %i", (a, b, distance) => {
    expect(editDistance(a, b)).toBe(distance);
  });

  test("is symmetric, 0 only for equal texts, and never more than the longer length", () => {
    const short = fc.string({ maxLength: 12 });
    fc.assert(
      fc.property(short, short, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(Array.from(a).length, Array.from(b).length));
      }),
    );
  });
});

describe("nearest", () => {
  const stages = ["inventory", "budget", "cordon", "drain", "uncordon", "plan"];
  test.each([
    ["drian", "drain"],
    ["uncordn", "uncordon"],
    ["cordn", "cordon"],
    ["DRAIN", "drain"],
    ["inventroy", "inventory"],
    ["drain", "drain"],
    ["snapshot", null],
    ["x", null],
  ])("%s: %s", (wrong, right) => {
    expect(nearest(wrong, stages)).toBe(right);
  });

  test("the first of equally near names wins", () => {
    expect(nearest("node-3", ["node-1", "node-2"])).toBe("node-1");
  });

  test("didYouMean says nothing when no name is near, or when the name is right", () => {
    expect(didYouMean("drian", stages)).toBe(' (did you mean "drain"?)');
    expect(didYouMean("zzz", stages)).toBe("");
    expect(didYouMean("drain", stages)).toBe("");
  });
});
