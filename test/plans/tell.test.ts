import { describe, expect, it } from "vitest";
import type { Requirement } from "../../analysis/conditions/index.ts";
import type { Plan } from "../../plans/plan.ts";
import type { Stage } from "../../plans/stage.ts";
import { tell } from "../../plans/tell.ts";
import type { Transition } from "../../plans/transition.ts";
import { inventory, node } from "../analysis/facts.ts";
import { stage, WAY_BACK } from "./stages.ts";

const ready: Requirement = { condition: "nodes-ready", with: {}, says: "every node is Ready" };
const etcd: Requirement = { condition: "etcd-healthy", with: { endpoints: ["x"] }, says: "etcd is healthy" };
const exists: Requirement = {
  condition: "nodes-exist",
  with: { nodes: [{ name: "nowhere", path: "drill.node" }] },
  says: "the node is there",
};
const joined: Requirement = {
  condition: "nodes-as-reviewed",
  with: { nodes: { "old-1": "uid-old-1", "old-2": "uid-old-2" }, target: "v1.34.4" },
  says: "the nodes are those of the inventory",
};

const planOf = (stages: readonly Stage[]): Plan => ({
  stages,
  verify: { gateTimeoutSeconds: 1, successes: 1, intervalSeconds: 1, timeoutSeconds: 1 },
  compose: () => undefined,
  undo: () => undefined,
  undoDemands: (undone) => undone.gate,
  foresee: (one) => [`forecast of ${one.name}`],
});

const to = (target: number, more: Partial<Transition> = {}): Transition => ({
  kind: "forward",
  resumes: false,
  target,
  undo: [],
  ...more,
});

const sick = inventory({ nodes: [node("old-1", { ready: false })] });

describe("a stage that is entered", () => {
  const told = (gate: Requirement[], world = inventory(), more: Partial<Stage> = {}) =>
    tell(planOf([stage("a"), stage("b", true, { gate, check: [ready], ...more })]), to(1), world);

  it("is told whole: what it does, gate with its verdict, check, undo, forecast", () => {
    expect(told([ready]).lines).toEqual([
      "Enters stage 'b' (2 of 2): Does b.",
      "  before anything changes (gate):",
      "    holds now    every node is Ready",
      "  afterwards (check):",
      "    every node is Ready",
      "  can be undone: b is undone",
      "  forecast of b",
    ]);
  });

  it("names side effects that no diff shows, and only where there are some", () => {
    expect(told([]).lines.join("\n")).not.toContain("side effects");
    expect(told([], inventory(), { sideEffects: ["tokens are refused"] }).lines).toEqual(
      expect.arrayContaining(["  side effects that no diff shows:", "    - tokens are refused"]),
    );
  });

  it("says loudly that it cannot be undone, and what the way back is", () => {
    const lines = told([], inventory(), { undo: { possible: false, wayBack: WAY_BACK } }).lines;
    expect(lines).toContain(`  CANNOT BE UNDONE. The way back: ${WAY_BACK}`);
  });

  it("goes on with one that was begun", () => {
    const plan = planOf([stage("a"), stage("b")]);
    expect(tell(plan, to(1, { resumes: true }), inventory()).lines[0]).toBe(
      "Goes on with stage 'b' (2 of 2): Does b.",
    );
  });

  it("warns of what time may mend, and does not fail the preview for it", () => {
    const { lines, refusals, warnings } = told([ready], sick);
    expect(lines).toContain("    not yet      every node is Ready");
    expect(refusals).toEqual([]);
    expect(warnings.map((one) => one.code)).toEqual(["NODE-NOT-READY"]);
  });

  it("refuses what time does not mend", () => {
    const { lines, refusals } = told([exists, ready], sick);
    expect(lines).toContain("    REFUSED      the node is there");
    expect(lines).toContain("    not yet      every node is Ready");
    expect(refusals.map((one) => one.code)).toEqual(["NODE-UNKNOWN"]);
  });

  it("says 'not decided' for what was not read: not a pass, not a warning", () => {
    const { lines, refusals, warnings } = told([etcd]);
    expect(lines).toContain("    not decided  etcd is healthy");
    expect([...refusals, ...warnings]).toEqual([]);
  });

  it("passes on a word of warning beside a condition that holds", () => {
    const { lines, warnings } = told([joined]);
    expect(lines).toContain("    holds now    the nodes are those of the inventory");
    expect(warnings.map((one) => [one.code, one.severity])).toEqual([["NODE-JOINED", "warn"]]);
  });

  it("keeps the sentences of the gate in one column", () => {
    const { lines } = told([ready, exists, etcd], sick);
    const columns = lines
      .filter((line) => /^ {4}(holds now|not yet|REFUSED|not decided)/.test(line))
      .map((line) => line.search(/(every|the node|etcd)/));
    expect(columns).toHaveLength(3);
    expect(new Set(columns).size).toBe(1);
  });
});

describe("a stack that stands still", () => {
  it("is told what comes next", () => {
    const told = tell(planOf([stage("a"), stage("b")]), to(0, { kind: "settled" }), inventory());
    expect(told.lines).toEqual(["Stands at stage 'a' (1 of 2).", "  Next is 'b': pulumi config set stage b"]);
    expect(told.warnings).toEqual([]);
  });

  it("is told that it is at the end", () => {
    const told = tell(planOf([stage("a")]), to(0, { kind: "settled" }), inventory());
    expect(told.lines).toContain("  This is the last stage.");
  });

  it("is warned when what was checked does not hold any more; what was not read is no drift", () => {
    const stages = [stage("a", true, { check: [ready, etcd, exists] })];
    const told = tell(planOf(stages), to(0, { kind: "settled" }), sick);
    expect(told.warnings.map((one) => one.code)).toEqual(["NODE-NOT-READY", "NODE-UNKNOWN"]);
    expect(told.refusals).toEqual([]);
  });
});

describe("a way back", () => {
  const stages = [stage("a", true, { check: [ready] }), stage("b"), stage("c")];
  const undo = [...stages.slice(1)].reverse();

  it("is told stage by stage, in the order in which it is undone", () => {
    const told = tell(planOf(stages), to(0, { kind: "back", undo }), inventory());
    expect(told.lines).toEqual([
      "Goes back to stage 'a' (1 of 3); undone, in this order:",
      "    c: c is undone",
      "    b: b is undone",
      "  afterwards (check):",
      "    every node is Ready",
    ]);
  });

  it("is told as one that goes on", () => {
    const told = tell(planOf(stages), to(0, { kind: "back", resumes: true, undo }), inventory());
    expect(told.lines[0]).toMatch(/^Goes on with the way back to stage 'a'/);
  });
});
