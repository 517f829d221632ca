/** Makes docs/policies.md from the rules themselves: `node policies/catalogue.ts > docs/policies.md`. */
import { migration, type Member, type Pack } from "./packs.ts";
import type { Rule } from "./rule.ts";

export function catalogue(pack: Pack): string {
  return [
    "# Policies",
    "",
    "<!-- Made from policies/ by `node policies/catalogue.ts > docs/policies.md`. Do not edit. -->",
    "",
    `The pack \`${pack.name}\` guards a plan in CI and in rehearsals:`,
    "",
    "```",
    "pulumi preview --policy-pack policies",
    "pulumi up --policy-pack policies",
    "```",
    "",
    "A mandatory rule fails the preview. An advisory rule says what it saw and lets it pass. What a rule cannot know at preview is",
    "neither kept nor broken: `not-decided` names the rule, the resource and the property.",
    "",
    "Rules on single resources are asked before the engine touches the resource, at preview and at `up`. Rules on the whole stack",
    "are asked at the end: of the preview, where nothing has happened yet, or of the `up`, where everything has. So give the pack to",
    "both, and never leave the preview out.",
    "",
    ...pack.members.map(entry),
    "",
    ...pack.members.flatMap(section),
  ].join("\n");
}

const entry = ({ rule, level }: Member): string => `- [${rule.name}](#${rule.name}), ${level}`;

function section({ rule, level }: Member): string[] {
  return [
    `## ${rule.name}`,
    "",
    rule.demands,
    "",
    `- Level: ${level}.`,
    `- Asked for: ${asked(rule)}.`,
    `- Why: ${rule.why}.`,
    `- Repair: ${rule.repair}.`,
    ...(rule.limits === undefined ? [] : [`- Does not see: ${rule.limits}.`]),
    "",
  ];
}

function asked({ resource, stack }: Rule): string {
  return [
    ...(resource === undefined ? [] : ["each resource"]),
    ...(stack === undefined ? [] : ["the stack"]),
  ].join(", ");
}

if (import.meta.main) process.stdout.write(catalogue(migration));
