/** Says why a drain does not go on: each pod that is left, and what keeps it. Reported, not waited out. */
import { judge } from "../../analysis/conditions/index.ts";
import type { Finding } from "../../analysis/finding.ts";
import { Refusal } from "../context.ts";
import type { DrainSettings } from "./engine.ts";
import type { DrainView } from "./view.ts";

export function stuckRefusal(settings: DrainSettings, view: DrainView, why: string): Refusal {
  const inventory = view.now();
  const demand = { nodes: [...settings.nodes], acknowledge: [...settings.acknowledge] };
  const causes = judge({ inventory }, { condition: "drain-allowed", with: demand }).filter(
    (one) => one.severity !== "warn",
  );
  const left = judge({ inventory }, { condition: "node-empty", with: demand });
  const answer: Finding = {
    code: "DRAIN-STUCK",
    severity: "refuse",
    subject: settings.nodes.join(", "),
    message: `${why}; ${left.length} pods are left`,
    rule: "a drain that does not go on stops with its reasons",
    repair:
      "mend the reasons, then run `pulumi up` again: pods that are gone are not asked for again; or go back to uncordon the nodes",
  };
  return new Refusal("the drain did not end", [answer, ...causes, ...left]);
}
