import { LONGEST_AGE_MINUTES } from "../../analysis/snapshot.ts";
import { z } from "zod";
import { INPUT_VARIABLE } from "../../commands/document.ts";
import {
  commandOf,
  commandsOf,
  IRREVERSIBLE,
  named,
  undecidedDocuments,
  type DocumentedCommand,
} from "../documents.ts";
import { keysOf } from "../reading.ts";
import { violation, type Rule, type Verdict } from "../rule.ts";
import type { StackView } from "../view.ts";

const Fresh = z.object({
  fresh: z.object({ maxAgeMinutes: z.number().positive().max(LONGEST_AGE_MINUTES) }),
});

export const irreversibleNeedsSnapshot: Rule = {
  name: "irreversible-needs-snapshot",
  demands: `What cannot be undone comes after a snapshot of its own stage, is bound to it, and takes none older than ${LONGEST_AGE_MINUTES} minutes.`,
  why: "the only way back from a Kubernetes upgrade is a restored etcd snapshot (kubernetes.io, Upgrading kubeadm clusters; etcd.io, Disaster recovery)",
  repair:
    'take the snapshot in the same stage: `frame.command("snapshot", …)`, and hand its stdout on as `input`, with `fresh.maxAgeMinutes` in the spec',
  resource: (one) => {
    const command = commandOf(one);
    return command === null || !command.live ? [] : byItself(command);
  },
  stack: (stack) => {
    const commands = commandsOf(stack);
    return [
      ...commands.filter(needsSnapshot).flatMap((command) => inItsStack(stack, commands, command)),
      ...undecidedDocuments(stack.resources),
    ];
  },
};

const needsSnapshot = ({ live, document }: DocumentedCommand): boolean =>
  live && (document.irreversible || IRREVERSIBLE.has(document.command));

function byItself(command: DocumentedCommand): Verdict[] {
  const { resource, document } = command;
  if (!needsSnapshot(command)) return [];
  const verdicts: Verdict[] = [];
  if (!document.irreversible) {
    verdicts.push(
      violation(
        resource,
        `${named(command)} runs '${document.command}', which cannot be undone, but its document says \`irreversible: false\``,
        "declare it with `irreversible: true`",
      ),
    );
  }
  if (!Fresh.safeParse(document.spec).success) {
    verdicts.push(
      violation(
        resource,
        `${named(command)} cannot be undone, and its spec does not limit the snapshot's age to ${LONGEST_AGE_MINUTES} minutes or less (fresh.maxAgeMinutes)`,
        "set cluster-migration:upgrade.etcd.maxSnapshotAgeMinutes to " + `${LONGEST_AGE_MINUTES} or less`,
      ),
    );
  }
  if (!keysOf(resource, "environment").includes(INPUT_VARIABLE)) {
    verdicts.push(
      violation(
        resource,
        `${named(command)} cannot be undone, and no snapshot is handed to it (environment.${INPUT_VARIABLE})`,
      ),
    );
  }
  return verdicts;
}

function inItsStack(
  stack: StackView,
  commands: readonly DocumentedCommand[],
  command: DocumentedCommand,
): Verdict[] {
  const { resource, document } = command;
  const snapshots = commands.filter((one) => one.live && one.document.command === "snapshot");
  const own = snapshots.filter(
    (one) => one.document.stage === document.stage && stack.after(resource, one.resource),
  );
  if (own.length === 0) {
    return [
      violation(
        resource,
        `${named(command)} cannot be undone, and depends on no 'snapshot' command of its stage '${document.stage}'`,
      ),
    ];
  }
  const bound = resource.propertyDependencies["environment"] ?? [];
  if (own.some((one) => bound.includes(one.resource.urn))) return [];
  return [
    violation(
      resource,
      `${named(command)} cannot be undone, and comes after ${own.map(named).join(", ")} without being bound to its output`,
    ),
  ];
}
