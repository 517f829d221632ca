import { z } from "zod";
import type { Finding } from "../../analysis/finding.ts";
import { checkUpgradePath } from "../../analysis/upgrade-path.ts";
import { isPreRelease, readVersion } from "../../analysis/versions.ts";
import { commandsOf, demandsOf, named, undecidedDocuments, type DocumentedCommand } from "../documents.ts";
import { read } from "../reading.ts";
import { undecided, violation, type Rule, type Verdict } from "../rule.ts";
import type { ResourceView, StackView } from "../view.ts";

export const oneMinorAtATime: Rule = {
  name: "one-minor-at-a-time",
  demands:
    "All commands have one target; it is a version, and one step from what the cluster ran when it was reviewed.",
  why: "API servers never skip a minor and never go down (kubernetes/kubernetes#79704, kubernetes.io, Version skew policy)",
  repair: "set cluster-migration:upgrade.target to a version one minor up, or to a later patch of the same",
  stack: (stack) => {
    const targets = targetsOf(stack);
    const { facts, verdicts } = reviewed(stack, targets);
    return [
      ...oneTarget(targets),
      ...targets.filter(firstOfItsKind).flatMap((target) => pathVerdicts(target, facts)),
      ...verdicts,
      ...undecidedDocuments(stack.resources),
    ];
  },
};

export const targetIsARelease: Rule = {
  name: "target-is-a-release",
  demands: "The target of an upgrade is a release.",
  why: "alpha, beta and rc versions get no fixes and no supported way to the release that follows (kubernetes.io, Releases)",
  repair: "name a release for a live cluster",
  stack: (stack) =>
    targetsOf(stack)
      .filter(firstOfItsKind)
      .filter(({ target }) => readVersion(target).ok && isPreRelease(target))
      .map(({ target, command }) =>
        violation(command.resource, `${named(command)}: the target ${target} is a pre-release`),
      ),
};

interface Target {
  readonly target: string;
  readonly command: DocumentedCommand;
}

/** The targets of what runs now: commands of earlier stages may have had an earlier patch. */
function targetsOf(stack: StackView): readonly Target[] {
  return commandsOf(stack)
    .filter(({ live }) => live)
    .flatMap((command) =>
      [
        command.document.spec["target"],
        ...demandsOf(command).flatMap((demand) => [demand.with["target"], demand.with["version"]]),
      ]
        .filter((target) => typeof target === "string")
        .map((target) => ({ target, command })),
    );
}

const firstOfItsKind = ({ target }: Target, index: number, all: readonly Target[]): boolean =>
  all.findIndex((other) => other.target === target) === index;

function oneTarget(targets: readonly Target[]): Verdict[] {
  const [first, ...others] = targets.filter(firstOfItsKind);
  if (first === undefined) return [];
  return others.map(({ target, command }) =>
    violation(
      command.resource,
      `${named(command)} is for ${target}, while ${named(first.command)} is for ${first.target}`,
      "one target for the whole plan: cluster-migration:upgrade.target",
    ),
  );
}

function pathVerdicts({ target, command }: Target, facts: Facts | null): Verdict[] {
  const findings: readonly Finding[] =
    facts === null
      ? // Without the cluster's own version: can it be read at all?
        checkUpgradePath({ current: target, target })
      : checkUpgradePath({
          current: facts.serverVersion,
          target,
          kubelets: facts.nodes.map(({ name, kubeletVersion }) => ({ name, version: kubeletVersion })),
        });
  return findings
    .filter(
      ({ severity, code }) => severity === "refuse" && !(facts === null && code !== "VERSION-UNREADABLE"),
    )
    .map((finding) => violation(command.resource, `${named(command)}: ${finding.message}`, finding.repair));
}

/** What the inventory saw: an output of the stack. */
const Facts = z.object({
  serverVersion: z.string(),
  nodes: z.array(z.object({ name: z.string(), kubeletVersion: z.string() })),
});
type Facts = z.output<typeof Facts>;

function reviewed(
  stack: StackView,
  targets: readonly Target[],
): { facts: Facts | null; verdicts: Verdict[] } {
  const root: ResourceView | undefined = stack.ofType("pulumi:pulumi:Stack")[0];
  if (root === undefined || targets.length === 0) return { facts: null, verdicts: [] };
  const reading = read(root, "facts");
  const parsed = reading.state === "known" ? Facts.safeParse(reading.value) : null;
  if (parsed?.success === true) return { facts: parsed.data, verdicts: [] };
  return {
    facts: null,
    verdicts: [undecided(root, reading.state === "unknown" ? reading.property : "facts")],
  };
}
