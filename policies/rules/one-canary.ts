import type { Finding } from "../../analysis/finding.ts";
import { checkRollout, compareNames, type RolloutStage } from "../../analysis/rollout.ts";
import {
  commandOf,
  commandsOf,
  demandsOf,
  named,
  nodesOf,
  undecidedDocuments,
  type DocumentedCommand,
} from "../documents.ts";
import { isRecord } from "../reading.ts";
import { violation, type Rule, type Verdict } from "../rule.ts";
import type { StackView } from "../view.ts";

/** The shape of a rollout is judged by analysis/rollout.ts; that it is verified in between is batch-after-verified. */
const VERIFIED = ["see the rule batch-after-verified"];

export const oneCanary: Rule = {
  name: "one-canary",
  demands: "The canary is exactly one node, and every node is upgraded in one stage only.",
  why: "a canary of several nodes puts more at risk than it has to, and a node in two batches is taken down twice (analysis/rollout.ts)",
  repair: "name one canary, and every other node in one batch: cluster-migration:upgrade.rollout",
  resource: (one) => {
    const command = commandOf(one);
    if (command?.document.command !== "upgrade-nodes" || command.document.stage !== "canary") return [];
    const stages = [{ stage: "canary", nodes: nodesOf(command) }];
    return judge(stages, nodesOf(command)).map((finding) =>
      violation(one, `${named(command)}: ${finding.message}`),
    );
  },
  stack: (stack) => {
    const commands = commandsOf(stack);
    return [...rolledOut(commands), ...planned(stack, commands), ...undecidedDocuments(stack.resources)];
  },
};

/** The commands that upgrade nodes, taken together. The canary alone was judged by itself. */
function rolledOut(commands: readonly DocumentedCommand[]): Verdict[] {
  const upgrades = commands
    .filter(({ document }) => document.command === "upgrade-nodes")
    .sort((a, b) => compareNames(rank(a), rank(b)));
  if (upgrades.length === 0) return [];
  const stages = upgrades.map((one): RolloutStage => ({ stage: one.document.stage, nodes: nodesOf(one) }));
  return judge(
    stages,
    stages.flatMap(({ nodes }) => nodes),
  )
    .filter(({ code }) => code !== "ROLLOUT-CANARY")
    .map((finding) => {
      const index = Number(/^stages\.([0-9]+)/.exec(finding.subject)?.[1] ?? Number.NaN);
      const culprit =
        upgrades[index] ?? upgrades.findLast((one) => nodesOf(one).includes(finding.subject)) ?? upgrades[0];
      return violation(
        culprit?.resource ?? { urn: "" },
        `the rollout's ${finding.subject} ${finding.message}`,
        finding.repair,
      );
    });
}

const rank = ({ document: { stage } }: DocumentedCommand): string => (stage === "canary" ? "" : stage);

/** The rollout that is about to be written down, against the nodes that were reviewed. */
function planned(stack: StackView, commands: readonly DocumentedCommand[]): Verdict[] {
  return commands
    .filter(({ live, document }) => live && document.command === "plan-documents")
    .flatMap((command) => {
      const reviewed = commands
        .filter((gate) => gate.live && stack.after(command.resource, gate.resource))
        .flatMap(demandsOf)
        .filter(({ condition }) => condition === "nodes-as-reviewed")
        .flatMap((demand) => (isRecord(demand.with["nodes"]) ? Object.keys(demand.with["nodes"]) : []));
      if (reviewed.length === 0) return [];
      return checkRollout(command.document.spec["rollout"], reviewed).map((finding) =>
        violation(
          command.resource,
          `${named(command)}: the rollout's ${finding.subject} ${finding.message}`,
          finding.repair,
        ),
      );
    });
}

function judge(stages: readonly RolloutStage[], nodes: readonly string[]): Finding[] {
  return checkRollout({ stages, verify_between_stages: VERIFIED }, nodes);
}
