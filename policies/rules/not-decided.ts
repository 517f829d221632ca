import type { Rule, Surroundings, Verdict } from "../rule.ts";
import { violation } from "../rule.ts";
import type { StackView } from "../view.ts";

/**
 * Says what other rules could not judge. A rule of its own, because the engine has one level for all that a policy reports:
 * said by a mandatory rule, a preview with unknown values would never pass; left unsaid, it would count as passed.
 */
export function notDecided(rules: readonly Rule[]): Rule {
  return {
    name: "not-decided",
    demands: "What a rule looks at is known.",
    why: "a rule that was skipped is no rule that was kept (pulumi/pulumi-policy#258)",
    repair:
      "feed it from config or from a document, which are known at preview; `pulumi up` with this pack judges it again when the value is known",
    stack: (stack, surroundings) =>
      rules.flatMap((rule) => {
        const open = verdicts(rule, stack, surroundings).filter((verdict) => verdict.kind === "undecided");
        return open.map(({ urn, property }) =>
          violation(
            { urn },
            `not decided: ${rule.name} at '${nameOf(urn)}': \`${property}\` is not known yet`,
          ),
        );
      }),
  };
}

function verdicts(rule: Rule, stack: StackView, surroundings: Surroundings): readonly Verdict[] {
  return [
    ...stack.resources.flatMap((one) => rule.resource?.(one, surroundings) ?? []),
    ...(rule.stack?.(stack, surroundings) ?? []),
  ];
}

const nameOf = (urn: string): string => urn.slice(urn.lastIndexOf("::") + 2);
