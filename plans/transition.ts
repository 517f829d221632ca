/**
 * Which stage may follow which. Pure: the program asks it at preview, before anything else.
 *
 * A stack knows two things of its past: the stage last *applied* (its own outputs) and the stage last *begun* (a record
 * in the cluster, written after a gate passed and before anything changed). Where the two differ, an `up` was cut short.
 * A way back can be cut short where the two are the same: from a stage that was begun only, to the applied one below it.
 * So the outputs also say which attempt they are of, and the record which stages it undoes.
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
  const lost = [position.applied, position.begun, ...position.undoing].find(
    (name) => name !== null && !names.includes(name),
  );
  if (lost !== undefined && lost !== null) {
    return refuse(
      "STAGE-LOST",
      `the stack is at stage '${lost}', which the plan no longer has with this config`,
      "a stage that was applied stays part of the plan",
      "bring back the settings that made this stage (for a rollout: its batches), then go on",
    );
  }
  const place = placeOf(names, position);
  if (place === null) {
    return refuse(
      "STAGE-RECORD",
      `the stack's own outputs say that it is at ${quoted(position.applied)}, the record in the cluster that ${quoted(position.begun)} was begun last`,
      "the two are never further apart than the one step that is under way: one of them was set back or lost",
      "bring back the other one of the same moment: the stack's state (your last `pulumi stack export`, by `pulumi stack import`), or the record, ConfigMap kube-system/cluster-migration",
    );
  }
  const to = names.indexOf(target);
  if (to === -1) {
    const suggestion = nearest(target, names);
    return refuse(
      "STAGE-UNKNOWN",
      `there is no stage '${target}' in this plan; ${whereIs(stages, place)}`,
      `the stages are, in order: ${names.join(", ")}`,
      `${suggestion === null ? "" : `did you mean '${suggestion}'? Else: `}${mayCome(stages, place)}`,
    );
  }
  if (to < place.top || place.state === "half-back") return downTo(stages, place, to);
  if (place.state === "rest" && to === place.applied) return accept("settled", false, to, []);
  if (to === place.next) return accept("forward", place.state === "half-forward", to, []);
  return refuse(
    "STAGE-SKIPPED",
    `${whereIs(stages, place)}; '${target}' is ${to - place.applied} stages further`,
    "forward one stage at a time, each applied in full before the next",
    mayCome(stages, place),
  );
}

/** Where the stack is, in indexes of stages; -1 stands for a new stack. */
interface Place {
  /** `half-forward` and `half-back`: the last `up` was cut short, after it had begun its work. */
  readonly state: "rest" | "half-forward" | "half-back";
  readonly applied: number;
  /** The highest stage that has left something on the cluster: what a way back begins with. */
  readonly top: number;
  /** What the last `up` was on its way to, when it was cut short; else the stage after the applied one. */
  readonly next: number;
}

/** Null when outputs and record do not belong together. */
function placeOf(
  names: readonly string[],
  { applied: last, begun: record, undoing }: Position,
): Place | null {
  const applied = last === null ? -1 : names.indexOf(last);
  const begun = record === null ? applied : names.indexOf(record);
  const top = Math.max(applied, begun, ...undoing.map((name) => names.indexOf(name)));
  if (top > applied + 1) return null;
  if (undoing.length > 0) return { state: "half-back", applied, top, next: begun };
  if (begun < applied) return null;
  if (begun > applied) return { state: "half-forward", applied, top, next: begun };
  return { state: "rest", applied, top, next: applied + 1 };
}

/** Undoes everything above `to`. A way back that was begun goes on, or further back, but not forward. */
function downTo(stages: readonly Stage[], place: Place, to: number): Decision {
  if (place.state === "half-back" && to > place.next) {
    return refuse(
      "STAGE-UNFINISHED",
      whereIs(stages, place),
      "a way back that was begun is finished before anything goes forward",
      mayCome(stages, place),
    );
  }
  const undo = stages.slice(to + 1, place.top + 1).reverse();
  const stuck = undo.find((stage) => !stage.undo.possible);
  if (stuck !== undefined && !stuck.undo.possible) {
    return refuse(
      "STAGE-NO-WAY-BACK",
      `${whereIs(stages, place)}; going back to '${nameAt(stages, to)}' would cross '${stuck.name}', which cannot be undone`,
      `the only way back: ${stuck.undo.wayBack}`,
      mayCome(stages, place),
    );
  }
  return accept("back", place.state === "half-back" && to === place.next, to, undo);
}

function whereIs(stages: readonly Stage[], { state, applied, top, next }: Place): string {
  if (state === "half-back") {
    return `the stack is on its way back from '${nameAt(stages, top)}' to '${nameAt(stages, next)}' and is not there yet`;
  }
  if (state === "half-forward") return `the stack has begun '${nameAt(stages, next)}' and not finished it`;
  return applied === -1
    ? "the stack is new: no stage was applied yet"
    : `the stack is at stage '${nameAt(stages, applied)}'`;
}

/** What may come next, and how. */
function mayCome(stages: readonly Stage[], { state, top, next }: Place): string {
  const lowest = stages.slice(0, top + 1).findLastIndex((stage) => !stage.undo.possible);
  const backTo = stages
    .slice(Math.max(lowest, 0), state === "half-back" ? next : Math.max(top, 0))
    .map((stage) => stage.name);
  const onward = stages[next]?.name;
  const parts = [
    onward === undefined
      ? `'${nameAt(stages, top)}' is the last stage: stay there (${set(nameAt(stages, top))})`
      : `next is '${onward}': ${set(onward)}; then \`pulumi preview\` and \`pulumi up\``,
    ...(backTo.length > 0 ? [`Going back is possible to: ${backTo.join(", ")}`] : []),
  ];
  return parts.join(". ");
}

const quoted = (stage: string | null): string => (stage === null ? "no stage" : `stage '${stage}'`);

const set = (stage: string): string => `pulumi config set stage ${stage}`;

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
