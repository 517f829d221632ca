/**
 * Makes the part "The stages" of docs/upgrade.md from the stages themselves, for the example stack:
 * `node test/docs/stage-reference.ts` writes it anew.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe } from "../../analysis/finding.ts";
import { parseStackConfig } from "../../config/stack.ts";
import type { Stage } from "../../plans/stage.ts";
import { settle } from "../../plans/upgrade/settings.ts";
import { upgradeStages } from "../../plans/upgrade/stages.ts";
import { exampleConfig, exampleFacts, page, ROOT } from "./example.ts";

export const PAGE = "docs/upgrade.md";
const BEGIN = "<!-- stages: made by `node test/docs/stage-reference.ts`, do not edit -->";
const END = "<!-- end of stages -->";

export function exampleStages(): readonly Stage[] {
  const parsed = parseStackConfig(exampleConfig(), "cluster-migration");
  if (!parsed.ok) throw new Error(parsed.problems.map(describe).join("\n"));
  const settled = settle(parsed.config.upgrade, exampleFacts);
  if (!settled.ok) throw new Error(settled.problems.map(describe).join("\n"));
  return upgradeStages(settled.settings, exampleFacts);
}

/** The page with this part as the program has it now. */
export function withStages(text: string): string {
  const begin = text.indexOf(BEGIN);
  const end = text.indexOf(END);
  if (begin === -1 || end < begin) throw new Error(`${PAGE} has lost the marks around its stages`);
  const sections = exampleStages().map(section).join("\n\n");
  return `${text.slice(0, begin)}${BEGIN}\n\n${sections}\n\n${text.slice(end)}`;
}

function section(stage: Stage, index: number): string {
  const artefacts = stage.check.flatMap((one) => (one.condition === "artefact" ? [one.with.name] : []));
  const check = stage.check.filter((one) => one.condition !== "artefact");
  return [
    `### ${index + 1}. \`${stage.name}\``,
    "",
    stage.does,
    "",
    `- Gate: ${list(stage.gate.map((one) => one.says))}.`,
    ...(check.length === 0 ? [] : [`- Check: ${list(check.map((one) => one.says))}.`]),
    ...(artefacts.length === 0
      ? []
      : [`- Artefacts, each checked: ${artefacts.map((name) => `\`${name}\``).join(", ")}.`]),
    stage.undo.possible
      ? `- Undo: ${stage.undo.how}.`
      : `- **Cannot be undone.** Way back: ${stage.undo.wayBack}.`,
    ...(stage.sideEffects.length === 0
      ? []
      : ["- Side effects that no diff shows:", ...stage.sideEffects.map((effect) => `  - ${effect}`)]),
  ].join("\n");
}

const list = (sentences: readonly string[]): string => sentences.join("; ");

if (import.meta.main) writeFileSync(path.join(ROOT, PAGE), withStages(page(PAGE)));
