/**
 * A model of stacks that people and crashes push around: whatever they do, stages are never skipped, nothing that cannot
 * be undone is crossed, everything that was touched is undone on the way back, and there is always a way to go on.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StageRecord } from "../../analysis/stage-record.ts";
import { nextRecord, positionOf, type OwnOutputs } from "../../plans/position.ts";
import type { Stage } from "../../plans/stage.ts";
import { decide, type Transition } from "../../plans/transition.ts";
import { stage } from "./stages.ts";

interface World {
  readonly own: OwnOutputs;
  readonly record: StageRecord | null;
  /** What really stands on the cluster, fully or in part: indexes of stages. */
  readonly touched: ReadonlySet<number>;
}

const NEW: World = { own: { stage: null, attempt: null, facts: null }, record: null, touched: new Set() };

/** Where an `up` is killed: before its record is written, after it, in the middle of its work; or it ends well. */
const ends = ["before-record", "after-record", "half-way", "done"] as const;
type End = (typeof ends)[number];

const stacks = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 7 })
  .map((undoable) => undoable.map((can, index) => stage(`s${index}`, can)));

const steps = fc.array(fc.record({ wish: fc.nat(), end: fc.constantFrom(...ends) }), { maxLength: 25 });

function decideAt(stages: readonly Stage[], world: World, target: number) {
  return decide(stages, positionOf(world.own, world.record), stages[target]?.name ?? "");
}

function apply(stages: readonly Stage[], world: World, transition: Transition, end: End): World {
  const name = stages[transition.target]?.name ?? "";
  const live = world.record;
  const record = nextRecord({
    stack: "o/p/s",
    plan: "test",
    stage: name,
    transition,
    finished: world.own.attempt,
    live,
  });
  if (end === "before-record" && transition.kind !== "settled") return world;
  const touched = new Set(world.touched);
  if (transition.kind === "forward" && end !== "after-record") touched.add(transition.target);
  const undo = transition.undo.map((one) => stages.indexOf(one));
  for (const index of end === "done" ? undo : end === "half-way" ? undo.slice(0, 1) : [])
    touched.delete(index);
  if (end !== "done") return { ...world, record, touched };
  return { own: { stage: name, attempt: record.attempt, facts: null }, record, touched };
}

const accepted = (stages: readonly Stage[], world: World) =>
  stages.flatMap((_, target) => {
    const decision = decideAt(stages, world, target);
    return decision.ok ? [decision.transition] : [];
  });

/** Runs a walk; `look` sees each world, and each transition before it is taken. */
function walk(
  stages: readonly Stage[],
  plan: readonly { wish: number; end: End }[],
  look: (world: World, transition: Transition | null, after: World | null, end: End) => void,
): void {
  let world = NEW;
  for (const { wish, end } of plan) {
    look(world, null, null, end);
    const choices = accepted(stages, world);
    const transition = choices[wish % Math.max(choices.length, 1)];
    if (transition === undefined) return;
    const after = apply(stages, world, transition, end);
    look(world, transition, after, end);
    world = after;
  }
}

const appliedIndex = (stages: readonly Stage[], world: World): number =>
  stages.findIndex((one) => one.name === world.own.stage);

describe("any walk over any stages, cut short anywhere", () => {
  it("always leaves a way on", () => {
    fc.assert(
      fc.property(stacks, steps, (stages, plan) => {
        walk(stages, plan, (world) => {
          const kinds = accepted(stages, world);
          expect(kinds.length).toBeGreaterThan(0);
          // A step that was cut short can be taken up again.
          if (world.record !== null && world.record.attempt !== world.own.attempt) {
            expect(kinds.some((one) => one.resumes)).toBe(true);
          }
        });
      }),
    );
  });

  it("never skips a stage: everything below what is applied was applied", () => {
    fc.assert(
      fc.property(stacks, steps, (stages, plan) => {
        walk(stages, plan, (world, transition) => {
          if (transition === null) return;
          const applied = appliedIndex(stages, world);
          if (transition.kind === "forward") expect(transition.target).toBe(applied + 1);
          if (transition.kind === "settled") expect(transition.target).toBe(applied);
          if (transition.kind === "back") expect(transition.target).toBeLessThanOrEqual(applied);
        });
      }),
    );
  });

  it("never undoes what cannot be undone, and undoes exactly what is above, the last one first", () => {
    fc.assert(
      fc.property(stacks, steps, (stages, plan) => {
        walk(stages, plan, (world, transition) => {
          if (transition === null) return;
          const undo = transition.undo.map((one) => stages.indexOf(one));
          expect(transition.undo.every((one) => one.undo.possible)).toBe(true);
          expect(undo).toEqual(undo.map((_, index) => transition.target + undo.length - index));
          if (transition.kind !== "back") expect(undo).toEqual([]);
        });
      }),
    );
  });

  it("leaves nothing standing above a stage that was reached", () => {
    fc.assert(
      fc.property(stacks, steps, (stages, plan) => {
        walk(stages, plan, (_, transition, after, end) => {
          if (transition === null || after === null || end !== "done") return;
          expect([...after.touched].filter((index) => index > transition.target)).toEqual([]);
        });
      }),
    );
  });

  it("does not go forward while something above is half undone", () => {
    fc.assert(
      fc.property(stacks, steps, (stages, plan) => {
        walk(stages, plan, (world, transition) => {
          if (transition?.kind !== "forward") return;
          expect([...world.touched].filter((index) => index > transition.target)).toEqual([]);
          const unfinishedBack = world.record?.came === "back" && world.record.attempt !== world.own.attempt;
          expect(unfinishedBack).toBe(false);
        });
      }),
    );
  });

  it("says in every refusal where the stack is, and a next stage that is then accepted", () => {
    fc.assert(
      fc.property(stacks, steps, (stages, plan) => {
        walk(stages, plan, (world) => {
          for (const target of [...stages.keys(), -1]) {
            const decision = decideAt(stages, world, target);
            if (decision.ok) continue;
            const { message, repair } = decision.problem;
            expect(message).toMatch(/the stack (is|has) /);
            const proposed = [...repair.matchAll(/set stage (\w+)/g)].map((match) => match[1] ?? "");
            expect(proposed.length).toBeGreaterThan(0);
            const backTo = /possible to: ([\w, ]+)/.exec(repair)?.[1]?.split(", ") ?? [];
            for (const name of [...proposed, ...backTo]) {
              const again = decideAt(
                stages,
                world,
                stages.findIndex((one) => one.name === name),
              );
              expect(again.ok, `${message} / ${repair} / ${name}`).toBe(true);
            }
            // And nothing that would be accepted is kept from the reader.
            const open = accepted(stages, world).map((one) => stages[one.target]?.name ?? "");
            const applied = world.own.stage;
            expect(new Set([...proposed, ...backTo, ...(applied === null ? [] : [applied])])).toEqual(
              new Set([...open, ...(applied === null ? [] : [applied])]),
            );
          }
        });
      }),
    );
  });

  it("gives each `up` that does something an attempt that was never used", () => {
    fc.assert(
      fc.property(stacks, steps, (stages, plan) => {
        const used = new Set<number>();
        walk(stages, plan, (world, transition, after) => {
          if (transition === null || after === null || after.record === null || after.record === world.record)
            return;
          expect(used.has(after.record.attempt)).toBe(false);
          used.add(after.record.attempt);
          expect(after.record.since).toBeLessThanOrEqual(after.record.attempt);
        });
      }),
    );
  });
});
