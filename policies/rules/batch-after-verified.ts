import { commandsOf, isCheck, named, undecidedDocuments, type DocumentedCommand } from "../documents.ts";
import { violation, type Rule, type Verdict } from "../rule.ts";
import type { StackView } from "../view.ts";

export const batchAfterVerified: Rule = {
  name: "batch-after-verified",
  demands: "Nodes of a canary or batch are upgraded after the check of the stage before it has passed.",
  why: "a rollout that goes on over a failed stage takes the whole cluster down with it; and no kubelet may be newer than its API server (kubernetes.io, Version skew policy)",
  repair: "put the check of the stage before it among the dependencies of this stage's gate",
  stack: (stack) => {
    const commands = commandsOf(stack);
    return [
      ...commands
        .filter(({ live, document }) => live && document.command === "upgrade-nodes")
        .flatMap((command) => verified(stack, commands, command)),
      ...undecidedDocuments(stack.resources),
    ];
  },
};

function verified(
  stack: StackView,
  commands: readonly DocumentedCommand[],
  command: DocumentedCommand,
): Verdict[] {
  const { resource, document } = command;
  const before = stagesBefore(commands, document.stage);
  if (before === null) {
    return [
      violation(
        resource,
        `${named(command)} upgrades nodes in stage '${document.stage}', which is neither canary nor batch1, batch2, …: nothing says what comes before it`,
        "name the stages of a rollout canary, batch1, batch2, …",
      ),
    ];
  }
  if (before.length === 0) {
    return [
      violation(
        resource,
        `${named(command)} upgrades kubelets, and no stage of this stack upgrades the control plane`,
        "upgrade the control plane first, in a stage of its own",
      ),
    ];
  }
  return before
    .filter((stage) => !checksOf(commands, stage).some((check) => stack.after(resource, check.resource)))
    .map((stage) =>
      violation(
        resource,
        `${named(command)} does not come after the check of stage '${stage}', which goes before it`,
      ),
    );
}

/** Null for a stage that is no part of a rollout. */
function stagesBefore(commands: readonly DocumentedCommand[], stage: string): readonly string[] | null {
  if (stage === "canary") {
    return commands
      .filter(({ document }) => document.command === "upgrade-control-plane")
      .map(({ document }) => document.stage);
  }
  const number = /^batch([1-9][0-9]*)$/.exec(stage)?.[1];
  if (number === undefined) return null;
  return [number === "1" ? "canary" : `batch${Number(number) - 1}`];
}

const checksOf = (commands: readonly DocumentedCommand[], stage: string): readonly DocumentedCommand[] =>
  commands.filter((command) => isCheck(command) && command.document.stage === stage);
