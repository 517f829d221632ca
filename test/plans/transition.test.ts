import { describe, expect, it } from "vitest";
import type { Position } from "../../plans/stage.ts";
import { decide, type Transition } from "../../plans/transition.ts";
import { plan, WAY_BACK } from "./stages.ts";

const at = (applied: string | null, begun: string | null = applied, undoing: string[] = []): Position => ({
  applied,
  begun,
  undoing,
});

function accepted(text: string, position: Position, target: string): Transition {
  const decision = decide(plan(text), position, target);
  if (!decision.ok) throw new Error(decision.problem.message);
  return decision.transition;
}

function refused(text: string, position: Position, target: string) {
  const decision = decide(plan(text), position, target);
  if (decision.ok) throw new Error(`accepted: ${decision.transition.kind}`);
  return decision.problem;
}

const undone = (transition: Transition): string[] => transition.undo.map((one) => one.name);

describe("from rest", () => {
  it("lets a new stack begin with the first stage only", () => {
    expect(accepted("a b c", at(null), "a")).toEqual({
      kind: "forward",
      resumes: false,
      target: 0,
      undo: [],
    });
    const problem = refused("a b c", at(null), "b");
    expect(problem.code).toBe("STAGE-SKIPPED");
    expect(problem.message).toBe("the stack is new: no stage was applied yet; 'b' is 2 stages further");
    expect(problem.repair).toBe(
      "next is 'a': pulumi config set stage a; then `pulumi preview` and `pulumi up`",
    );
  });

  it("goes one stage forward", () => {
    expect(accepted("a b c", at("a"), "b")).toMatchObject({ kind: "forward", resumes: false, target: 1 });
  });

  it("stays where it is", () => {
    expect(accepted("a b c", at("c"), "c")).toEqual({ kind: "settled", resumes: false, target: 2, undo: [] });
  });

  it("refuses to skip, and names where the stack is, what is next, and what it may go back to", () => {
    const problem = refused("a b c d", at("b"), "d");
    expect(problem).toEqual({
      code: "STAGE-SKIPPED",
      severity: "refuse",
      subject: "cluster-migration:stage",
      message: "the stack is at stage 'b'; 'd' is 2 stages further",
      rule: "forward one stage at a time, each applied in full before the next",
      repair:
        "next is 'c': pulumi config set stage c; then `pulumi preview` and `pulumi up`. Going back is possible to: a",
    });
  });

  it("goes back over several stages that can be undone, the last one first", () => {
    const transition = accepted("a b c d", at("d"), "a");
    expect(transition).toMatchObject({ kind: "back", resumes: false, target: 0 });
    expect(undone(transition)).toEqual(["d", "c", "b"]);
  });

  it("refuses to cross a stage that cannot be undone, and says what the way back is", () => {
    const problem = refused("a b! c d", at("c"), "a");
    expect(problem.code).toBe("STAGE-NO-WAY-BACK");
    expect(problem.message).toBe(
      "the stack is at stage 'c'; going back to 'a' would cross 'b', which cannot be undone",
    );
    expect(problem.rule).toBe(`the only way back: ${WAY_BACK}`);
    expect(problem.repair).toContain("next is 'd'");
    expect(problem.repair).toContain("Going back is possible to: b");
  });

  it("goes back to a stage that cannot be undone itself", () => {
    expect(undone(accepted("a b! c d", at("d"), "b"))).toEqual(["d", "c"]);
  });

  it("at the last stage, names it instead of a next one", () => {
    const problem = refused("a b!", at("b"), "a");
    expect(problem.repair).toBe("'b' is the last stage: stay there (pulumi config set stage b)");
  });
});

describe("names that are not right", () => {
  it("suggests the nearest stage, says where the stack is, and what may come next all the same", () => {
    const problem = refused("inventory budget cordon", at("inventory"), "inventroy");
    expect(problem.code).toBe("STAGE-UNKNOWN");
    expect(problem.message).toBe(
      "there is no stage 'inventroy' in this plan; the stack is at stage 'inventory'",
    );
    expect(problem.rule).toBe("the stages are, in order: inventory, budget, cordon");
    expect(problem.repair).toMatch(/^did you mean 'inventory'\? Else: next is 'budget'/);
  });

  it("never proposes the first stage of the plan to a stack that has left it behind for good", () => {
    const problem = refused("a b! c d", at("c"), "zzzzzz");
    expect(problem.repair).not.toContain("set stage a");
    expect(problem.repair).toContain("set stage d");
  });

  it("refuses to go anywhere when the stage it is at is gone from the plan", () => {
    const problem = refused("a b", at("batch2"), "a");
    expect(problem.code).toBe("STAGE-LOST");
    expect(problem.message).toContain("'batch2'");
  });
});

describe("an `up` forward that was cut short", () => {
  it("goes on", () => {
    expect(accepted("a b c", at("a", "b"), "b")).toMatchObject({ kind: "forward", resumes: true, target: 1 });
    expect(accepted("a b c", at(null, "a"), "a")).toMatchObject({
      kind: "forward",
      resumes: true,
      target: 0,
    });
  });

  it("goes on also where the stage cannot be undone: that is the only way", () => {
    expect(accepted("a b! c", at("a", "b"), "b")).toMatchObject({ kind: "forward", resumes: true });
    expect(refused("a b! c", at("a", "b"), "a").code).toBe("STAGE-NO-WAY-BACK");
  });

  it("goes back to the stage it came from: what was begun is undone", () => {
    expect(undone(accepted("a b c", at("a", "b"), "a"))).toEqual(["b"]);
  });

  it("refuses to go further forward, and offers no way back across what was begun and cannot be undone", () => {
    const problem = refused("a b! c", at("a", "b"), "c");
    expect(problem.message).toContain("the stack has begun 'b' and not finished it");
    expect(problem.repair).toContain("next is 'b'");
    expect(problem.repair).not.toContain("Going back");
  });

  it("offers the way back to the stage it came from where there is one", () => {
    expect(refused("a b c d", at("b", "c"), "d").repair).toContain("Going back is possible to: a, b");
  });
});

describe("a way back that was cut short", () => {
  it("goes on with everything that was to be undone", () => {
    const transition = accepted("a b c d", at("d", "b", ["d", "c"]), "b");
    expect(transition).toMatchObject({ kind: "back", resumes: true, target: 1 });
    expect(undone(transition)).toEqual(["d", "c"]);
  });

  it("goes further back", () => {
    const transition = accepted("a b c d", at("d", "b", ["d", "c"]), "a");
    expect(transition).toMatchObject({ kind: "back", resumes: false });
    expect(undone(transition)).toEqual(["d", "c", "b"]);
  });

  it("still undoes a stage that was begun and never applied", () => {
    // Applied b, began c, went back to a, was cut short: c has to be undone as well.
    expect(undone(accepted("a b c", at("b", "a", ["c", "b"]), "a"))).toEqual(["c", "b"]);
  });

  it("is not taken for rest when it leads to the applied stage", () => {
    const position = at("b", "b", ["c"]);
    expect(undone(accepted("a b c", position, "b"))).toEqual(["c"]);
    expect(accepted("a b c", position, "b").resumes).toBe(true);
    expect(refused("a b c", position, "c").code).toBe("STAGE-UNFINISHED");
  });

  it("refuses to go forward before it is finished", () => {
    const problem = refused("a b c d", at("d", "b", ["d", "c"]), "d");
    expect(problem.code).toBe("STAGE-UNFINISHED");
    expect(problem.message).toBe("the stack is on its way back from 'd' to 'b' and is not there yet");
    expect(problem.repair).toContain("next is 'b'");
    expect(problem.repair).toContain("Going back is possible to: a");
  });
});

describe("outputs and record that do not belong together", () => {
  it.each([
    ["a record far ahead: the stack's state was lost", at(null, "c")],
    ["a record ahead by more than one stage: an old state was imported", at("a", "c")],
    ["a record behind without a way back: etcd was restored", at("c", "b")],
    ["a way back from further up than the stack can have been", at("a", "a", ["d", "c", "b"])],
  ])("%s", (_, position) => {
    for (const target of ["a", "b", "c", "d"]) {
      const problem = refused("a b c d", position, target);
      expect(problem.code).toBe("STAGE-RECORD");
      expect(problem.repair).toContain("pulumi stack import");
      expect(problem.repair).toContain("kube-system/cluster-migration");
    }
  });

  it("goes by the outputs where the record is gone", () => {
    expect(accepted("a b c", at("b", null), "c")).toMatchObject({ kind: "forward" });
  });
});
