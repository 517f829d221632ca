import { commandOf, isCheck, isCommand, isGate } from "../documents.ts";
import { keysOf, read } from "../reading.ts";
import { undecided, violation, type Rule } from "../rule.ts";
import type { ResourceView } from "../view.ts";

/** Words in a resource's name that say: this one is there to find out. */
const LOOKS_LIKE_A_GATE = /(^|[^a-z])(gate|check|verify|validate|assert|preflight|healthcheck)([^a-z]|$)/i;

export const gateRunsAgain: Rule = {
  name: "gate-runs-again",
  demands: "A Command that is a gate or a check has triggers, so that it runs again with each stage.",
  why: "a Command with constant inputs runs once; the gate stays green from last week (pulumi/pulumi-command#37, pulumi/pulumi-command#751)",
  repair: "give it triggers that change with every attempt, such as the stage and the record's attempt",
  resource: (one) => {
    if (!isCommand(one) || !isAGate(one)) return [];
    // Unknown triggers are some: they come out of another resource.
    if (!keysOf(one).includes("triggers")) return missing(one);
    const triggers = read(one, "triggers");
    if (triggers.state === "unknown")
      return triggers.property === "triggers" ? [undecided(one, "triggers")] : [];
    return triggers.state === "known" && Array.isArray(triggers.value) && triggers.value.length > 0
      ? []
      : missing(one);
  },
};

function isAGate(one: ResourceView): boolean {
  const command = commandOf(one);
  return command === null ? LOOKS_LIKE_A_GATE.test(one.name) : isGate(command) || isCheck(command);
}

const missing = (one: ResourceView) => [
  violation(
    one,
    `Command '${one.name}' is a gate or a check and has no triggers: the next \`pulumi up\` does not run it again`,
  ),
];
