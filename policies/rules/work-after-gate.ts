import { RECORD } from "../../analysis/stage-record.ts";
import {
  commandsOf,
  gatesBefore,
  isCheck,
  isGate,
  isWayBackGate,
  named,
  OBSERVERS,
  undecidedDocuments,
  withoutDocument,
  type DocumentedCommand,
} from "../documents.ts";
import { recordsOf } from "../record.ts";
import { violation, type Rule, type Verdict } from "../rule.ts";
import type { StackView } from "../view.ts";

export const workAfterGate: Rule = {
  name: "work-after-gate",
  demands:
    "Nothing changes before its stage's gate has passed and the stage is on record; and every stage has a check that comes after all its work.",
  why: "resources without a dependency run side by side: a gate that nothing waits for stops nothing (pulumi/pulumi#1743, pulumi/pulumi#7542)",
  repair:
    "make the command with `frame.command(…)`, which puts it after gate and record; make the check last, with `frame.done` as its dependencies",
  stack: (stack) => {
    const commands = commandsOf(stack);
    const live = commands.filter((command) => command.live);
    return [
      ...live
        .filter(({ document }) => !OBSERVERS.has(document.command))
        .flatMap((command) => behindGate(stack, commands, command)),
      ...live.filter((command) => !isCheck(command)).flatMap((command) => beforeCheck(stack, live, command)),
      ...withoutDocument(stack.resources).map((one) =>
        violation(
          one,
          `command '${one.name}' has no document on its standard input: nothing says what it does, or in which stage`,
        ),
      ),
      ...undecidedDocuments(stack.resources),
    ];
  },
};

function behindGate(
  stack: StackView,
  commands: readonly DocumentedCommand[],
  command: DocumentedCommand,
): Verdict[] {
  const { resource, document } = command;
  const gates = gatesBefore(stack, commands, command);
  if (gates.length === 0) {
    return [
      violation(
        resource,
        `${named(command)} changes something and depends on no gate that runs: neither that of its stage '${document.stage}' nor that of a way back`,
      ),
    ];
  }
  const record = recordsOf(stack).find((one) => stack.after(resource, one));
  if (record === undefined) {
    return [
      violation(
        resource,
        `${named(command)} changes something before the stage is on record (ConfigMap ${RECORD.namespace}/${RECORD.name}): after an interruption nobody would know that it was begun`,
      ),
    ];
  }
  if (gates.some((gate) => stack.after(record, gate.resource))) return [];
  return [
    violation(
      record,
      `the record '${record.name}' depends on no gate of stage '${document.stage}': a stage whose gate failed would count as begun`,
    ),
  ];
}

function beforeCheck(
  stack: StackView,
  live: readonly DocumentedCommand[],
  command: DocumentedCommand,
): Verdict[] {
  const wayBack = live
    .filter(isWayBackGate)
    .find((gate) => gate === command || stack.after(command.resource, gate.resource));
  const stage = wayBack?.document.stage ?? command.document.stage;
  const checks = live.filter((one) => isCheck(one) && one.document.stage === stage);
  if (checks.some((check) => stack.after(check.resource, command.resource))) return [];
  const what = isGate(command) ? "its gate" : named(command);
  return [
    violation(
      command.resource,
      checks.length === 0
        ? `stage '${stage}' has no check that runs, so nobody sees what ${named(command)} has done`
        : `${checks.map(named).join(", ")} of stage '${stage}' does not depend on ${what}: it may run before it`,
    ),
  ];
}
