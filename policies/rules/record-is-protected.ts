import { compareNames, STAGE_LABEL } from "../../analysis/rollout.ts";
import { RECORD, StageRecord } from "../../analysis/stage-record.ts";
import { commandsOf, isCheck } from "../documents.ts";
import { readText } from "../reading.ts";
import { recordsOf } from "../record.ts";
import { undecided, violation, type Rule, type Verdict } from "../rule.ts";
import type { StackView } from "../view.ts";

const UNKNOWN = Symbol("unknown");

export const recordIsProtected: Rule = {
  name: "record-is-protected",
  demands: "Between the first and the last stage of a plan its record is protected.",
  why: "`pulumi destroy` half-way would leave the cluster between two stages, with nothing to tell where (pulumi.com, resource option protect)",
  repair: "set `protect: true` on the record; to end the plan, go on to its last stage or back to its first",
  stack: (stack) =>
    recordsOf(stack)
      .filter((one) => !one.opts.protect)
      .flatMap((one): Verdict[] => {
        const { text, ...reading } = readText(one, "data", RECORD.key);
        if (text === null)
          return [undecided(one, reading.state === "unknown" ? reading.property : "data.record")];
        const record = parse(text);
        if (record === null) return [undecided(one, "data.record")];
        if (isFirst(stack, record.stage)) return [];
        const last = lastStage(stack, record.plan);
        if (last === UNKNOWN)
          return [undecided(one, `data.record: whether '${record.stage}' is the last stage of its plan`)];
        if (last === record.stage) return [];
        return [
          violation(
            one,
            `the record '${one.name}' is at stage '${record.stage}', in the middle of plan '${record.plan}', and is not protected`,
          ),
        ];
      }),
};

function parse(text: string): StageRecord | null {
  try {
    return StageRecord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

/** Every stage up to the present one has a check in the stack. */
function isFirst(stack: StackView, stage: string): boolean {
  return commandsOf(stack)
    .filter(isCheck)
    .every(({ document }) => document.stage === stage);
}

/** As far as a stack shows it: the last batch on the labels of the nodes. Null: the stack has not come to that yet. */
function lastStage(stack: StackView, plan: string): string | typeof UNKNOWN | null {
  if (plan !== "upgrade") return UNKNOWN;
  const stages: string[] = [];
  for (const node of stack.ofType("kubernetes:core/v1:NodePatch")) {
    const label = readText(node, "metadata", "labels", STAGE_LABEL);
    if (label.state === "unknown") return UNKNOWN;
    if (label.text !== null) stages.push(label.text);
  }
  return (
    stages
      .filter((stage) => stage !== "canary")
      .sort(compareNames)
      .at(-1) ??
    stages[0] ??
    null
  );
}
