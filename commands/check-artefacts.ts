/**
 * `make check-artefacts`: are the artefacts of a run there, right, and those that the evidence speaks of? Works on the
 * folder alone, long after the cluster is gone: the evidence says what nodes there were, what each artefact had to fit,
 * and which bytes were written.
 */
import { parseArgs } from "node:util";
import { z } from "zod";
import { checkArtefact, ARTEFACT_NAMES, Expectation } from "../analysis/conditions/artefact.ts";
import { describe, type Finding } from "../analysis/finding.ts";
import { latestEvidence } from "./evidence.ts";
import { sha256 } from "./files.ts";
import { readArtefacts } from "./judge.ts";

const HELP = `Checks the artefacts of a run of plan upgrade.

  node commands/check-artefacts.ts [--out out]

Exit status 0: all are there, right, and unchanged since they were written. 1: not; each problem is told.
`;

const Evidence = z.object({
  artefacts: z.record(z.string(), z.string()),
  spec: z.object({
    requirements: z.array(z.object({ condition: z.string(), with: z.unknown() })).default([]),
  }),
  seen: z.object({
    server: z.string().optional(),
    nodes: z.unknown().optional(),
  }),
});
const Nodes = z.array(z.object({ name: z.string(), kubeletVersion: z.string() }));

/** Every problem of every artefact; the subject begins with the artefact's name. */
export async function checkFolder(out: string): Promise<Finding[]> {
  const evidence = (await latestEvidence(out)).map((one) => ({
    file: one.file,
    ...Evidence.parse(one.body),
  }));
  const inventory = evidence.find(
    (one) => one.seen.server !== undefined && Nodes.safeParse(one.seen.nodes).success,
  );
  if (inventory === undefined) {
    return ARTEFACT_NAMES.map((name) =>
      problem(
        name,
        `there is no evidence of a run in '${out}'`,
        "run the plan, or name its folder with --out",
      ),
    );
  }
  const nodes = Nodes.parse(inventory.seen.nodes);
  const live = {
    server: inventory.seen.server ?? null,
    nodes: Object.fromEntries(nodes.map((node) => [node.name, node.kubeletVersion])),
  };
  const expectations = evidence.flatMap((one) =>
    one.spec.requirements.flatMap((requirement) =>
      requirement.condition === "artefact" ? [Expectation.parse(requirement.with)] : [],
    ),
  );
  const found = await readArtefacts(out, ARTEFACT_NAMES);
  return ARTEFACT_NAMES.flatMap((name) => {
    const expectation = expectations.find((one) => one.name === name);
    if (expectation === undefined)
      return [
        problem(
          name,
          "no check demanded it: the stage that writes it was not applied",
          "go on with the plan",
        ),
      ];
    const written = evidence.find((one) => name in one.artefacts)?.artefacts[name];
    const text = found[name]?.text;
    const changed = text !== undefined && written !== sha256(text);
    return [
      ...checkArtefact(found[name] ?? null, expectation, live),
      ...(changed
        ? [
            problem(
              name,
              `is not what the run wrote (sha256 ${sha256(text)}, evidence says ${written ?? "nothing"})`,
              "restore it, or run its stage again",
            ),
          ]
        : []),
    ];
  });
}

function problem(name: string, message: string, repair: string): Finding {
  const rule = "each artefact is the one that its stage wrote, and its check passed";
  return { code: "ARTEFACT", severity: "refuse", subject: name, message, rule, repair };
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { out: { type: "string", default: "out" }, help: { type: "boolean", default: false } },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const findings = await checkFolder(values.out);
  for (const finding of findings) process.stdout.write(`${describe(finding)}\n`);
  const broken = ARTEFACT_NAMES.filter((name) =>
    findings.some((finding) => finding.subject.split(" ")[0] === name),
  );
  process.stdout.write(`${ARTEFACT_NAMES.length - broken.length} passed, ${broken.length} failed\n`);
  return findings.length === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
