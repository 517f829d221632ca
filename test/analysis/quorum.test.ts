import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Member,
  type QuorumStep,
  after,
  quorum,
  quorumFindings,
  tolerance,
  votersOf,
} from "../../analysis/quorum.ts";

const voter = (name: string, more: Partial<Member> = {}): Member => ({
  name,
  learner: false,
  started: true,
  healthy: true,
  ...more,
});
const learner = (name: string, more: Partial<Member> = {}): Member => voter(name, { learner: true, ...more });
const codes = (
  members: readonly Member[],
  step: QuorumStep | readonly QuorumStep[],
  freshSnapshot = true,
): string[] =>
  quorumFindings({ members, steps: [step].flat(), freshSnapshot }).map(
    ({ severity, code }) => `${severity} ${code}`,
  );

test.each([
  [1, 1, 0],
  [2, 2, 0],
  [3, 2, 1],
  [4, 3, 1],
  [5, 3, 2],
])("%i voters need %i, and may lose %i", (voters, needed, spare) => {
  expect(quorum(voters)).toBe(needed);
  expect(tolerance(voters)).toBe(spare);
});

describe("ETC-01 adding a member", () => {
  const add = (more: Partial<Extract<QuorumStep, { kind: "add" }>> = {}): QuorumStep => ({
    kind: "add",
    name: "srv-new",
    asLearner: true,
    hostReady: true,
    ...more,
  });

  test.each<[string, readonly Member[], QuorumStep | QuorumStep[], string[]]>([
    ["as a learner on a host that is ready", [voter("srv-old")], add(), []],
    ["as a voter", [voter("srv-old")], add({ asLearner: false }), ["refuse QUORUM-ADD-VOTER"]],
    [
      "as a voter on a host that is not ready",
      [voter("srv-old")],
      add({ asLearner: false, hostReady: false }),
      ["refuse QUORUM-ADD-VOTER", "refuse QUORUM-HOST"],
    ],
    [
      "as a learner on a host that is not ready",
      [voter("srv-old")],
      add({ hostReady: false }),
      ["refuse QUORUM-HOST"],
    ],
    ["two in one step", [voter("srv-old")], [add(), add({ name: "srv-3" })], ["refuse QUORUM-TOGETHER"]],
    ["while another is a learner", [voter("srv-old"), learner("x")], add(), ["hold QUORUM-LEARNER"]],
    ["one that is there already", [voter("srv-old"), voter("srv-new")], add(), ["refuse QUORUM-KNOWN"]],
  ])("%s", (_name, members, step, expected) => {
    expect(codes(members, step)).toEqual(expected);
  });
});

describe("ETC-03 learners", () => {
  const three = [voter("cp-old-1"), voter("cp-old-2"), voter("cp-old-3")];

  test("no voter is removed while the new member is a learner", () => {
    expect(codes([...three, learner("cp-new-1")], { kind: "remove", name: "cp-old-1" })).toEqual([
      "hold QUORUM-LEARNER",
    ]);
    expect(codes([...three, voter("cp-new-1")], { kind: "remove", name: "cp-old-1" })).toEqual([]);
  });

  test("a learner that gave up may be removed", () => {
    expect(codes([...three, learner("cp-new-1")], { kind: "remove", name: "cp-new-1" })).toEqual([]);
  });

  test.each<[string, Partial<Member>, boolean, string[]]>([
    ["in sync", {}, true, []],
    ["not in sync", {}, false, ["hold QUORUM-LEARNER"]],
    ["not started", { started: false }, true, ["hold QUORUM-LEARNER"]],
    ["not healthy", { healthy: false }, true, ["hold QUORUM-LEARNER"]],
  ])("promotion of a learner that is %s", (_name, more, inSync, expected) => {
    expect(codes([...three, learner("new", more)], { kind: "promote", name: "new", inSync })).toEqual(
      expected,
    );
  });

  test("promoting a voter again is nothing", () => {
    expect(codes(three, { kind: "promote", name: "cp-old-1", inSync: false })).toEqual([]);
  });
});

describe("TAL-02 the last member must not leave", () => {
  const leave: QuorumStep = { kind: "remove", name: "srv-old" };
  test.each<[string, readonly Member[], QuorumStep, boolean, string[]]>([
    ["the only one leaves", [voter("srv-old")], leave, true, ["refuse QUORUM-LAST"]],
    [
      "the only one is reset",
      [voter("srv-old")],
      { kind: "reset", name: "srv-old", graceful: false },
      true,
      ["refuse QUORUM-LAST", "refuse QUORUM-LOST"],
    ],
    ["two entries, one voter", [voter("srv-old"), learner("srv-new")], leave, true, ["refuse QUORUM-LAST"]],
    ["another healthy voter and a snapshot", [voter("srv-old"), voter("srv-new")], leave, true, []],
    [
      "another healthy voter, no snapshot",
      [voter("srv-old"), voter("srv-new")],
      leave,
      false,
      ["hold QUORUM-SNAPSHOT"],
    ],
    [
      "the other voter is not healthy",
      [voter("srv-old"), voter("srv-new", { healthy: false })],
      leave,
      true,
      ["refuse QUORUM-LOST"],
    ],
    [
      "reset without leaving",
      [voter("srv-old"), voter("srv-new")],
      { kind: "reset", name: "srv-old", graceful: false },
      true,
      ["refuse QUORUM-RESET", "refuse QUORUM-LOST"],
    ],
    [
      "nobody of that name",
      [voter("srv-old"), voter("srv-new")],
      { kind: "remove", name: "srv-odl" },
      true,
      ["refuse QUORUM-UNKNOWN"],
    ],
  ])("%s", (_name, members, step, snapshot, expected) => {
    expect(codes(members, step, snapshot)).toEqual(expected);
  });
});

describe("stopping a member for a while", () => {
  test("one of three may be down, a second may not, one of two may not", () => {
    const stop: QuorumStep = { kind: "stop", name: "a" };
    expect(codes([voter("a"), voter("b"), voter("c")], stop, false)).toEqual([]);
    expect(codes([voter("a"), voter("b", { healthy: false }), voter("c")], stop)).toEqual([
      "refuse QUORUM-LOST",
    ]);
    expect(codes([voter("a"), voter("b")], stop)).toEqual(["refuse QUORUM-LOST"]);
  });

  test("two stops together are judged one after the other", () => {
    const stops: QuorumStep[] = ["a", "b"].map((name) => ({ kind: "stop", name }));
    expect(codes([voter("a"), voter("b"), voter("c")], stops)).toEqual(["refuse QUORUM-LOST"]);
  });
});

test("a step that is let through leaves a quorum of healthy voters", () => {
  const member = fc.record({ learner: fc.boolean(), started: fc.boolean(), healthy: fc.boolean() });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("remove" as const), name: fc.constant("m0") }),
    fc.record({ kind: fc.constant("stop" as const), name: fc.constant("m0") }),
    fc.record({ kind: fc.constant("reset" as const), name: fc.constant("m0"), graceful: fc.boolean() }),
    fc.record({ kind: fc.constant("promote" as const), name: fc.constant("m0"), inSync: fc.boolean() }),
    fc.record({
      kind: fc.constant("add" as const),
      name: fc.constant("new"),
      asLearner: fc.boolean(),
      hostReady: fc.boolean(),
    }),
  );
  fc.assert(
    fc.property(fc.array(member, { minLength: 1, maxLength: 5 }), step, (given, next) => {
      const members = given.map((one, index) => ({ ...one, name: `m${index}` }));
      const alive = (list: readonly Member[]): boolean => {
        const voters = votersOf(list);
        return voters.filter((one) => one.healthy && one.started).length >= quorum(voters.length);
      };
      fc.pre(alive(members));
      if (codes(members, next).length === 0) expect(alive(after(members, next))).toBe(true);
    }),
    { numRuns: 500 },
  );
});
