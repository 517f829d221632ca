import { describe, expect, it } from "vitest";
import type { StageRecord } from "../../analysis/stage-record.ts";
import {
  clusterFindings,
  lostRecordFindings,
  nextRecord,
  positionOf,
  recordFindings,
} from "../../plans/position.ts";
import type { Transition } from "../../plans/transition.ts";
import { lab } from "./settings.ts";
import { plan } from "./stages.ts";

const record = (more: Partial<StageRecord> = {}): StageRecord => ({
  stack: "o/p/s",
  plan: "upgrade",
  stage: "b",
  came: "forward",
  undone: [],
  attempt: 7,
  since: 6,
  ...more,
});

const transition = (more: Partial<Transition>): Transition => ({
  kind: "forward",
  resumes: false,
  target: 2,
  undo: [],
  ...more,
});

const next = (live: StageRecord | null, more: Partial<Transition>, finished: number | null = null) =>
  nextRecord({ stack: "o/p/s", plan: "upgrade", stage: "c", transition: transition(more), finished, live });

describe("the record of the stage last begun", () => {
  it("is begun with attempt 1", () => {
    expect(next(null, {})).toEqual({
      stack: "o/p/s",
      plan: "upgrade",
      stage: "c",
      came: "forward",
      undone: [],
      attempt: 1,
      since: 1,
    });
  });

  it("counts each attempt, and remembers the first one at a stage that is resumed", () => {
    expect(next(record(), {})).toMatchObject({ attempt: 8, since: 8 });
    expect(next(record(), { resumes: true })).toMatchObject({ attempt: 8, since: 6 });
  });

  it("never uses an attempt twice, also when the record was deleted by hand", () => {
    expect(next(null, {}, 7)).toMatchObject({ attempt: 8 });
    expect(next(record({ attempt: 3 }), {}, 7)).toMatchObject({ attempt: 8 });
  });

  it("is left as it is while the stack stands still: nothing runs again", () => {
    const live = record();
    expect(next(live, { kind: "settled" })).toBe(live);
  });

  it("names what is undone on the way back", () => {
    const undo = [...plan("a b c d").slice(2)].reverse();
    expect(next(record(), { kind: "back", undo })).toMatchObject({ came: "back", undone: ["d", "c"] });
  });
});

describe("where a stack is", () => {
  const own = (stage: string | null, attempt: number | null) => ({ stage, attempt, facts: null });

  it("is nowhere without outputs and record", () => {
    expect(positionOf(own(null, null), null)).toEqual({ applied: null, begun: null, undoing: [] });
  });

  it("is on a way back as long as the outputs are of another attempt than the record", () => {
    const live = record({ came: "back", undone: ["c"], attempt: 7 });
    expect(positionOf(own("b", 5), live)).toEqual({ applied: "b", begun: "b", undoing: ["c"] });
    expect(positionOf(own("b", 7), live)).toEqual({ applied: "b", begun: "b", undoing: [] });
  });

  it("takes a record of the way forward as it is", () => {
    expect(positionOf(own("a", 6), record())).toEqual({ applied: "a", begun: "b", undoing: [] });
  });
});

describe("whose cluster it is", () => {
  const own = { stack: "o/p/s", plan: "upgrade", context: "prod" };

  it("is nobody's, or one's own", () => {
    expect(recordFindings(null, own)).toEqual([]);
    expect(recordFindings(record(), own)).toEqual([]);
  });

  it.each([
    ["another stack", record({ stack: "o/p/other" })],
    ["another plan", record({ plan: "vpc" })],
  ])("is taken by %s", (_, live) => {
    const [finding] = recordFindings(live, own);
    expect(finding).toMatchObject({ code: "CLUSTER-TAKEN", severity: "refuse" });
    expect(finding?.message).toContain(`stage 'b' of plan '${live.plan}' of stack ${live.stack}`);
    expect(finding?.repair).toContain(`pulumi destroy --stack ${live.stack}`);
  });

  it("is the one that the stack was begun on", () => {
    expect(clusterFindings(null, lab, "prod")).toEqual([]);
    expect(clusterFindings(lab, lab, "prod")).toEqual([]);
    const [finding] = clusterFindings(lab, { ...lab, clusterUid: "other-uid" }, "prod");
    expect(finding).toMatchObject({
      code: "BOUND-CLUSTER",
      severity: "refuse",
      subject: "cluster-migration:cluster.context",
    });
    expect(finding?.message).toContain("cluster other-uid");
    expect(finding?.message).toContain("cluster cluster-uid");
  });
});

describe("a record that somebody removed", () => {
  it("is told, with what to do when the engine fails on it", () => {
    const own = { stage: "drain", attempt: 4, facts: null };
    expect(lostRecordFindings(own, null)).toEqual([
      expect.objectContaining({
        code: "RECORD-LOST",
        severity: "warn",
        message: expect.stringContaining("'drain'") as string,
      }),
    ]);
    expect(lostRecordFindings({ ...own, stage: null }, null)).toEqual([]);
  });
});
