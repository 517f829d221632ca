import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Rollout,
  type RolloutNode,
  type RolloutOptions,
  RolloutError,
  checkRollout,
  compareNames,
  planRollout,
} from "../../analysis/rollout.ts";

const workers = (...names: string[]): RolloutNode[] => names.map((name) => ({ name, controlPlane: false }));
const lab = [{ name: "lab-node-0", controlPlane: true }, ...workers("lab-node-1", "lab-node-2")];
const members = (rollout: Rollout): Record<string, readonly string[]> =>
  Object.fromEntries(rollout.stages.map(({ stage, nodes }) => [stage, nodes]));

describe("planRollout", () => {
  test("the exercise's three nodes come out as canary, batch1, batch2, in whatever order they are given", () => {
    const expected = { canary: ["lab-node-0"], batch1: ["lab-node-1"], batch2: ["lab-node-2"] };
    expect(members(planRollout(lab))).toEqual(expected);
    expect(members(planRollout([...lab].reverse()))).toEqual(expected);
    expect(members(planRollout(workers("lab-node-2", "lab-node-0", "lab-node-1")))).toEqual(expected);
  });

  test.each([
    [1, [1]],
    [2, [1, 1]],
    [4, [1, 1, 2]],
    [6, [1, 2, 3]],
    [200, [1, 50, 149]],
  ])("%i nodes go in stages of %j", (count, sizes) => {
    const nodes = workers(...Array.from({ length: count }, (_, index) => `n${index}`));
    expect(planRollout(nodes).stages.map((stage) => stage.nodes.length)).toEqual(sizes);
  });

  test("control-plane nodes go before all others", () => {
    const nodes = [
      ...workers("a", "b"),
      { name: "z-2", controlPlane: true },
      { name: "z-10", controlPlane: true },
    ];
    expect(planRollout(nodes).stages.flatMap((stage) => stage.nodes)).toEqual(["z-2", "z-10", "a", "b"]);
  });

  test("canary, sizes and lists are the owner's choice; what sizes leave over is a last batch", () => {
    const nodes = workers("a", "b", "c", "d", "e");
    expect(members(planRollout(nodes, { canary: "c", sizes: [1, 2] }))).toEqual({
      canary: ["c"],
      batch1: ["a"],
      batch2: ["b", "d"],
      batch3: ["e"],
    });
    const lists = planRollout(nodes, {
      canary: "e",
      lists: [
        ["a", "d"],
        ["b", "c"],
      ],
    });
    expect(members(lists)).toEqual({ canary: ["e"], batch1: ["a", "d"], batch2: ["b", "c"] });
  });

  test.each<[string, RolloutNode[], RolloutOptions, string]>([
    ["no nodes", [], {}, "at least one node"],
    ["unknown canary", workers("node-1"), { canary: "node-l" }, 'did you mean "node-1"?'],
    ["a size of 0", workers("a", "b"), { sizes: [0] }, "whole numbers above 0"],
    ["half a node", workers("a", "b"), { sizes: [0.5] }, "whole numbers above 0"],
    ["too many", workers("a", "b"), { sizes: [2] }, "add up to 2, but only 1"],
    ["both forms", workers("a", "b"), { canary: "a", sizes: [1], lists: [["b"]] }, "not both"],
    ["lists without a canary", workers("a", "b"), { lists: [["b"]] }, "need the canary"],
  ])("%s is refused", (_name, nodes, options, message) => {
    expect(() => planRollout(nodes, options)).toThrow(RolloutError);
    expect(() => planRollout(nodes, options)).toThrow(message);
  });
});

describe("checkRollout", () => {
  const names = ["lab-node-0", "lab-node-1", "lab-node-2"];
  const good = planRollout(lab);
  const withStages = (...stages: [string, string[]][]): unknown => ({
    ...good,
    stages: stages.map(([stage, nodes]) => ({ stage, nodes })),
  });

  test("the planned one passes, and a single sentence as verification is as good as a list", () => {
    expect(checkRollout(good, names)).toEqual([]);
    expect(checkRollout({ ...good, verify_between_stages: "all nodes Ready" }, names)).toEqual([]);
  });

  test.each<[string, unknown, string[]]>([
    [
      "canary of two",
      withStages(["canary", ["lab-node-0", "lab-node-1"]], ["batch1", ["lab-node-2"]]),
      ["ROLLOUT-CANARY"],
    ],
    ["empty canary", withStages(["canary", []], ["batch1", names]), ["ROLLOUT-CANARY"]],
    [
      "canary last",
      withStages(["batch1", ["lab-node-1"]], ["canary", ["lab-node-0"]], ["batch2", ["lab-node-2"]]),
      ["ROLLOUT-NAME", "ROLLOUT-NAME"],
    ],
    [
      "batches swapped",
      withStages(["canary", ["lab-node-0"]], ["batch2", ["lab-node-1"]], ["batch1", ["lab-node-2"]]),
      ["ROLLOUT-NAME", "ROLLOUT-NAME"],
    ],
    ["missing node", withStages(["canary", ["lab-node-0"]], ["batch1", ["lab-node-1"]]), ["ROLLOUT-MISSING"]],
    [
      "repeated node",
      withStages(
        ["canary", ["lab-node-0"]],
        ["batch1", ["lab-node-1", "lab-node-0"]],
        ["batch2", ["lab-node-2"]],
      ),
      ["ROLLOUT-REPEATED"],
    ],
    [
      "repeated within a stage",
      withStages(
        ["canary", ["lab-node-0"]],
        ["batch1", ["lab-node-1", "lab-node-1"]],
        ["batch2", ["lab-node-2"]],
      ),
      ["ROLLOUT-REPEATED"],
    ],
    [
      "unknown node",
      withStages(
        ["canary", ["lab-node-0"]],
        ["batch1", ["lab-node-1"]],
        ["batch2", ["lab-node-2", "lab-node-3"]],
      ),
      ["ROLLOUT-UNKNOWN"],
    ],
    [
      "empty batch",
      withStages(["canary", ["lab-node-0"]], ["batch1", []], ["batch2", ["lab-node-1", "lab-node-2"]]),
      ["ROLLOUT-EMPTY"],
    ],
    ["nothing verified", { ...good, verify_between_stages: [] }, ["ROLLOUT-SHAPE"]],
    ["blank verification", { ...good, verify_between_stages: " " }, ["ROLLOUT-SHAPE"]],
    ["no verification", { stages: good.stages }, ["ROLLOUT-SHAPE"]],
    ["no stages", { ...good, stages: [] }, ["ROLLOUT-SHAPE"]],
    ["nodes as a text", { ...good, stages: [{ stage: "canary", nodes: "lab-node-0" }] }, ["ROLLOUT-SHAPE"]],
    ["not an object", null, ["ROLLOUT-SHAPE"]],
  ])("%s is refused", (_name, rollout, expected) => {
    expect(checkRollout(rollout, names).map(({ code }) => code)).toEqual(expected);
  });

  test("a misspelt node is answered with the one that was meant", () => {
    const wrong = withStages(
      ["canary", ["lab-node-0"]],
      ["batch1", ["lab-node-1"]],
      ["batch2", ["lab-nod-2"]],
    );
    expect(checkRollout(wrong, names)[0]?.message).toContain('did you mean "lab-node-2"?');
  });
});

describe("properties", () => {
  const nodes = fc
    .uniqueArray(fc.stringMatching(/^[a-z][a-z0-9-]{0,8}[a-z0-9]$/), { minLength: 1, maxLength: 40 })
    .chain((names) =>
      fc.tuple(...names.map((name) => fc.record({ name: fc.constant(name), controlPlane: fc.boolean() }))),
    );

  test("a planned rollout passes its check; dropping or repeating any node fails it", () => {
    fc.assert(
      fc.property(nodes, fc.nat(), fc.nat(), (given, from, to) => {
        const names = given.map(({ name }) => name);
        const rollout = planRollout(given);
        expect(checkRollout(rollout, names)).toEqual([]);
        const victim = names[from % names.length] ?? "";
        const dropped = {
          ...rollout,
          stages: rollout.stages.map((s) => ({ ...s, nodes: s.nodes.filter((n) => n !== victim) })),
        };
        expect(checkRollout(dropped, names)).not.toEqual([]);
        const stages = rollout.stages.map((s, i) =>
          i === to % rollout.stages.length ? { ...s, nodes: [...s.nodes, victim] } : s,
        );
        expect(checkRollout({ ...rollout, stages }, names)).not.toEqual([]);
      }),
    );
  });

  test("names compare as a total order, digits as numbers", () => {
    expect(["n10", "n2", "n1", "n", "m3"].sort(compareNames)).toEqual(["m3", "n", "n1", "n2", "n10"]);
    const name = fc.stringMatching(/^[a-c0-2-]{0,6}$/);
    fc.assert(
      fc.property(name, name, name, (a, b, c) => {
        expect(compareNames(a, b) === 0).toBe(a === b);
        expect(Math.sign(compareNames(a, b))).toBe(-Math.sign(compareNames(b, a)) + 0);
        if (compareNames(a, b) <= 0 && compareNames(b, c) <= 0)
          expect(compareNames(a, c)).toBeLessThanOrEqual(0);
      }),
    );
  });
});
