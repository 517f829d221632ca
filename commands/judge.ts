/** Gate and check: the stage's requirements, judged against the live cluster. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { CONDITIONS, judge, type Requirement } from "../analysis/conditions/index.ts";
import type { Artefact, World } from "../analysis/conditions/world.ts";
import type { Finding } from "../analysis/finding.ts";
import { readInventory } from "../cluster/inventory.ts";
import { defineCommand, Refusal, type CommandDefinition, type Context } from "./context.ts";
import { EtcdAccess, EtcdTool } from "./etcd.ts";
import { holdsSteadily, SteadySpec } from "./steady.ts";

const Spec = z.strictObject({
  requirements: z.array(
    z.strictObject({
      condition: z.string().refine((name) => Object.hasOwn(CONDITIONS, name), "a condition of the registry"),
      with: z.record(z.string(), z.unknown()),
      says: z.string(),
    }),
  ),
  steady: SteadySpec,
  /** For conditions on etcd. */
  etcd: EtcdAccess.optional(),
});
type Spec = z.output<typeof Spec>;

/** Before anything changes. A gate that fails has changed nothing and says what is missing. */
export const gate = judging("gate", "nothing was changed");
/** After the work. */
export const check = judging(
  "check",
  "the stage does not count as applied; `pulumi up` again goes on from here",
);

function judging(what: string, consequence: string): CommandDefinition {
  return defineCommand({
    spec: Spec,
    mutates: false,
    run: async (context, spec) => {
      const requirements = spec.requirements as unknown as readonly Requirement[];
      let last: Seen = { verdicts: [], findings: [] };
      const { findings, looks } = await holdsSteadily(context, spec.steady, async () => {
        last = await look(context, spec, requirements);
        return last.findings;
      });
      const seen = {
        looks,
        requirements: last.verdicts,
        warnings: last.findings.filter((one) => one.severity === "warn"),
      };
      for (const warning of seen.warnings)
        context.progress(`warning: ${warning.subject}: ${warning.message}`);
      if (findings.length > 0) {
        throw new Refusal(`${findings.length} things stand in the way; ${consequence}`, findings, seen);
      }
      for (const requirement of requirements) context.progress(`holds: ${requirement.says}`);
      return { summary: `${what}: ${requirements.length} requirements hold`, seen };
    },
  });
}

interface Seen {
  readonly verdicts: readonly { says: string; holds: boolean; findings: readonly Finding[] }[];
  readonly findings: readonly Finding[];
}

async function look(context: Context, spec: Spec, requirements: readonly Requirement[]): Promise<Seen> {
  const world = await readWorld(context, spec, requirements);
  const verdicts = requirements.map((requirement) => {
    const findings = judge(world, requirement);
    return { says: requirement.says, holds: findings.every((one) => one.severity === "warn"), findings };
  });
  return { verdicts, findings: verdicts.flatMap((verdict) => verdict.findings) };
}

async function readWorld(context: Context, spec: Spec, requirements: readonly Requirement[]): Promise<World> {
  const names = requirements.flatMap((one) => (one.condition === "artefact" ? [one.with.name] : []));
  const needsEtcd = requirements.some((one) => one.condition === "etcd-healthy") && spec.etcd !== undefined;
  const [inventory, artefacts, etcd] = await Promise.all([
    readInventory(context.api),
    readArtefacts(context.document.out, names),
    needsEtcd && spec.etcd !== undefined ? readEtcd(context, spec.etcd) : undefined,
  ]);
  return { inventory, artefacts, ...(etcd === undefined ? {} : { etcd }) };
}

/** Artefacts as the conditions take them: YAML documents parsed, since the analysis itself parses no YAML. */
export async function readArtefacts(
  out: string,
  names: readonly string[],
): Promise<Record<string, Artefact | null>> {
  const read = names.map(async (name): Promise<[string, Artefact | null]> => {
    const text = await readFile(path.join(out, name), "utf8").catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    });
    if (text === null) return [name, null];
    return [name, name.endsWith(".yaml") ? { text, yaml: parseDocument(text) } : { text }];
  });
  return Object.fromEntries(await Promise.all(read));
}

function parseDocument(text: string): NonNullable<Artefact["yaml"]> {
  try {
    return { ok: true, value: parseYaml(text) as unknown };
  } catch (error) {
    return { ok: false, why: (error as Error).message };
  }
}

/** No endpoint answers: judged as all of them silent, which the condition says better than an error would. */
async function readEtcd(context: Context, access: EtcdAccess): Promise<World["etcd"]> {
  return await new EtcdTool(access, { signal: context.signal }).status().catch(() => []);
}
