/**
 * Which stage may follow which. Pure: the program asks it at preview, before anything else.
 *
 * A stack knows two things of its past: the stage last *applied* (its own outputs) and the stage last *begun* (a record
 * in the cluster, written after a gate passed and before anything changed). Where the two differ, an `up` was cut short.
 */
import type { Finding } from "../analysis/finding.ts";
import { nearest } from "../analysis/suggest.ts";
import type { Position, Stage } from "./stage.ts";

export interface Transition {
  /**
   * - `settled`: nothing to do, the stack is there.
   * - `forward`: the next stage is entered (or entered again after an `up` that was cut short).
   * - `back`: stages are undone until the target is reached.
   */
  readonly kind: "settled" | "forward" | "back";
  /** An earlier `up` towards this target was cut short. */
  readonly resumes: boolean;
  /** Index of the target. */
  readonly target: number;
  /** Stages to undo, in the order in which to undo them. */
  readonly undo: readonly Stage[];
}

export type Decision =
  { readonly ok: true; readonly transition: Transition } | { readonly ok: false; readonly problem: Finding };

const SUBJECT = "cluster-migration:stage";

export function decide(stages: readonly Stage[], position: Position, target: string): Decision {
  const names = stages.map((stage) => stage.name);
  const to = names.indexOf(target);
  if (to === -1) {
    const suggestion = nearest(target, names);
    return refuse(
      "STAGE-UNKNOWN",
      `there is no stage '${target}' in this plan`,
      `the stages are, in order: ${names.join(", ")}`,
      suggestion === null ? set(names[0]) : `did you mean '${suggestion}'? ${set(suggestion)}`,
    );
  }
  const lost = [position.applied, position.begun].find((name) => name !== null && !names.includes(name));
  if (lost !== undefined && lost !== null) {
    return refuse(
      "STAGE-LOST",
      `the stack is at stage '${lost}', which the plan no longer has with this config`,
      "a stage that was applied stays part of the plan",
      "bring back the settings that made this stage (for a rollout: its batches), then go on",
    );
  }
  const applied = position.applied === null ? -1 : names.indexOf(position.applied);
  const begun = position.begun === null ? applied : names.indexOf(position.begun);
  return begun === applied
    ? fromRest(stages, applied, to)
    : begun > applied
      ? fromHalfForward(stages, applied, begun, to)
      : fromHalfBack(stages, applied, begun, to);
}

function fromRest(stages: readonly Stage[], applied: number, to: number): Decision {
  if (to === applied) return accept("settled", false, to, []);
  if (to === applied + 1) return accept("forward", false, to, []);
  if (to > applied) return tooFar(stages, applied, to);
  return back(stages, applied, applied, to, false);
}

/** The last `up` was on its way forward to `begun` and did not get there. */
function fromHalfForward(stages: readonly Stage[], applied: number, begun: number, to: number): Decision {
  if (to === begun) return accept("forward", true, to, []);
  if (to > begun) return tooFar(stages, applied, to, begun);
  return back(stages, applied, begun, to, false);
}

/** The last `up` was on its way back to `begun` and did not get there: it may go on, or further back. */
function fromHalfBack(stages: readonly Stage[], applied: number, begun: number, to: number): Decision {
  if (to > begun) {
    return refuse(
      "STAGE-UNFINISHED",
      `the stack is on its way back from '${nameAt(stages, applied)}' to '${nameAt(stages, begun)}' and is not there yet`,
      "a way back that was begun is finished before anything goes forward",
      `${set(nameAt(stages, begun))}; then \`pulumi up\``,
    );
  }
  return back(stages, applied, applied, to, to === begun);
}

/** Undoes from stage `from` down to `to`. `from` is above `applied` when a stage was begun and not finished. */
function back(
  stages: readonly Stage[],
  applied: number,
  from: number,
  to: number,
  resumes: boolean,
): Decision {
  const undo = stages.slice(to + 1, from + 1).reverse();
  const stuck = undo.find((stage) => !stage.undo.possible);
  if (stuck !== undefined && !stuck.undo.possible) {
    const at =
      from > applied ? `has begun '${nameAt(stages, from)}'` : `is at stage '${nameAt(stages, applied)}'`;
    const next = from > applied ? nameAt(stages, from) : stages[applied + 1]?.name;
    return refuse(
      "STAGE-NO-WAY-BACK",
      `the stack ${at}; going back to '${nameAt(stages, to)}' would cross '${stuck.name}', which cannot be undone`,
      `the only way back: ${stuck.undo.wayBack}`,
      `stay, or go forward: ${mayCome(stages, from, next)}`,
    );
  }
  return accept("back", resumes, to, undo);
}

function tooFar(stages: readonly Stage[], applied: number, to: number, begun?: number): Decision {
  const next = begun ?? applied + 1;
  const where =
    begun !== undefined
      ? `the stack has begun '${nameAt(stages, begun)}' and not finished it`
      : applied === -1
        ? "the stack is new: no stage was applied yet"
        : `the stack is at stage '${nameAt(stages, applied)}'`;
  return refuse(
    "STAGE-SKIPPED",
    `${where}; '${nameAt(stages, to)}' is ${to - Math.max(applied, -1)} stages further`,
    "forward one stage at a time, each applied in full before the next",
    mayCome(stages, applied, nameAt(stages, next)),
  );
}

/** What may come next, and how. */
function mayCome(stages: readonly Stage[], applied: number, next: string | undefined): string {
  const backTo = stages
    .slice(0, Math.max(applied, 0))
    .filter((_, index) => stages.slice(index + 1, applied + 1).every((stage) => stage.undo.possible))
    .map((stage) => stage.name);
  const parts = [
    next === undefined
      ? "this is the last stage"
      : `next is '${next}': ${set(next)}; then \`pulumi preview\` and \`pulumi up\``,
    ...(backTo.length > 0 ? [`going back is possible to: ${backTo.join(", ")}`] : []),
  ];
  return parts.join(". ");
}

const set = (stage: string | undefined): string => `pulumi config set stage ${stage ?? ""}`;

function nameAt(stages: readonly Stage[], index: number): string {
  const stage = stages[index];
  if (stage === undefined) throw new RangeError(`no stage of index ${index}`);
  return stage.name;
}

function accept(
  kind: Transition["kind"],
  resumes: boolean,
  target: number,
  undo: readonly Stage[],
): Decision {
  return { ok: true, transition: { kind, resumes, target, undo } };
}

function refuse(code: string, message: string, rule: string, repair: string): Decision {
  return { ok: false, problem: { code, severity: "refuse", subject: SUBJECT, message, rule, repair } };
}
