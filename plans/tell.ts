/** What a preview tells about the stage that is entered: gate with its verdict now, check, undo, side effects, forecast. */
import { judge, type Requirement } from "../analysis/conditions/index.ts";
import type { Finding } from "../analysis/finding.ts";
import type { Inventory } from "../analysis/inventory.ts";
import type { Plan } from "./plan.ts";
import type { Stage } from "./stage.ts";
import type { Transition } from "./transition.ts";

export interface Told {
  readonly lines: readonly string[];
  /** Known already and not mended by waiting: the preview fails with them. */
  readonly refusals: readonly Finding[];
  readonly warnings: readonly Finding[];
}

export function tell(plan: Plan, transition: Transition, inventory: Inventory): Told {
  const stage = plan.stages[transition.target];
  if (stage === undefined) throw new RangeError(`no stage of index ${transition.target}`);
  const place = `stage '${stage.name}' (${transition.target + 1} of ${plan.stages.length})`;
  switch (transition.kind) {
    case "settled":
      return tellSettled(stage, place, inventory, plan.stages[transition.target + 1]);
    case "forward":
      return tellForward(plan, stage, place, inventory, transition.resumes);
    case "back":
      return tellBack(plan, stage, place, inventory, transition);
  }
}

function tellForward(plan: Plan, stage: Stage, place: string, inventory: Inventory, resumes: boolean): Told {
  const verdicts = judgeAll(stage.gate, inventory);
  return {
    lines: [
      `${resumes ? "Goes on with" : "Enters"} ${place}: ${stage.does}`,
      "  before anything changes (gate):",
      ...verdicts.lines,
      "  afterwards (check):",
      ...stage.check.map((requirement) => `    ${requirement.says}`),
      stage.undo.possible
        ? `  can be undone: ${stage.undo.how}`
        : `  CANNOT BE UNDONE. The way back: ${stage.undo.wayBack}`,
      ...(stage.sideEffects.length === 0 ? [] : ["  side effects that no diff shows:"]),
      ...stage.sideEffects.map((effect) => `    - ${effect}`),
      ...plan.foresee(stage, inventory).map((line) => `  ${line}`),
    ],
    refusals: verdicts.refusals,
    warnings: verdicts.warnings,
  };
}

function verdictOf(findings: readonly Finding[]): string {
  if (findings.some((finding) => finding.code === "NOT-DECIDED")) return "not decided";
  if (findings.some((finding) => finding.severity === "refuse")) return "REFUSED    ";
  return findings.some((finding) => finding.severity === "hold") ? "not yet    " : "holds now  ";
}

/** A look at the live cluster each time, also where nothing is to do: a stage that was applied may not hold any more. */
function tellSettled(stage: Stage, place: string, inventory: Inventory, next: Stage | undefined): Told {
  const drift = stage.check
    .filter((requirement) => requirement.condition !== "artefact")
    .flatMap((requirement) => judge({ inventory }, requirement))
    .filter((finding) => finding.code !== "NOT-DECIDED");
  return {
    lines: [
      `Stands at ${place}.`,
      next === undefined
        ? "  This is the last stage."
        : `  Next is '${next.name}': pulumi config set stage ${next.name}`,
    ],
    refusals: [],
    warnings: drift,
  };
}

function tellBack(
  plan: Plan,
  stage: Stage,
  place: string,
  inventory: Inventory,
  transition: Transition,
): Told {
  const demands = transition.undo.flatMap((one) => plan.undoDemands(one, stage));
  const verdicts = judgeAll(demands, inventory);
  return {
    lines: [
      `${transition.resumes ? "Goes on with the way back" : "Goes back"} to ${place}; undone, in this order:`,
      ...transition.undo.map(
        (one) => `    ${one.name}: ${one.undo.possible ? one.undo.how : one.undo.wayBack}`,
      ),
      ...(demands.length === 0 ? [] : ["  before anything changes (gate):"]),
      ...verdicts.lines,
      "  afterwards (check):",
      ...stage.check.map((requirement) => `    ${requirement.says}`),
    ],
    refusals: verdicts.refusals,
    warnings: verdicts.warnings,
  };
}

interface Verdicts {
  readonly lines: readonly string[];
  readonly refusals: readonly Finding[];
  readonly warnings: readonly Finding[];
}

function judgeAll(requirements: readonly Requirement[], inventory: Inventory): Verdicts {
  const verdicts = requirements.map((requirement) => ({
    requirement,
    findings: judge({ inventory }, requirement),
  }));
  const findings = verdicts.flatMap((verdict) => verdict.findings);
  return {
    lines: verdicts.map(({ requirement, findings: now }) => `    ${verdictOf(now)}  ${requirement.says}`),
    refusals: findings.filter((finding) => finding.severity === "refuse"),
    warnings: findings.filter((finding) => finding.severity !== "refuse" && finding.code !== "NOT-DECIDED"),
  };
}
