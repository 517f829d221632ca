/** `make rehearse`: takes a real cluster through a whole plan, on this machine alone. */
import { rm } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import { Bench } from "./bench.ts";
import { Report } from "./report.ts";
import { rehearseUpgrade } from "./upgrade.ts";

const HELP = `Rehearses a plan on a lab: real engine, real API server, real etcd, simulated kubelets.

  node lab/rehearsal/main.ts [--plan upgrade] [--out out] [--keep]

  --plan NAME   the plan to rehearse (default: upgrade)
  --out DIR     artefacts, evidence and the report, relative to the project (default: out)
  --keep        leave the lab's logs and the stack's state in .lab/ for a look afterwards
`;

const REHEARSALS = { upgrade: rehearseUpgrade } as const;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      plan: { type: "string", default: "upgrade" },
      out: { type: "string", default: "out" },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  if (!(values.plan in REHEARSALS)) {
    process.stderr.write(
      `there is no plan '${values.plan}' to rehearse: ${Object.keys(REHEARSALS).join(", ")}\n`,
    );
    return 2;
  }
  const plan = values.plan as keyof typeof REHEARSALS;
  const project = path.resolve(import.meta.dirname, "../..");
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    // Not `once`: without a listener the next signal, or a library that raises this one again, would end all at once.
    process.on(name, () => {
      stop.abort(new Error(`stopped by ${name}`));
    });
  }
  const started = performance.now();
  const progress = (line: string): void => {
    process.stdout.write(`[${((performance.now() - started) / 1000).toFixed(0).padStart(4)} s] ${line}\n`);
  };
  const report = new Report(`Rehearsal of plan ${plan}`, progress, stop.signal);
  // Artefacts of an earlier rehearsal would speak of a cluster that is gone.
  await rm(path.join(project, values.out), { recursive: true, force: true });
  // One folder a rehearsal: two can run side by side.
  const dir = path.join(".lab", `rehearsal-${plan}-${process.pid}`);
  try {
    const bench = await Bench.open({
      project,
      dir,
      out: values.out,
      stack: "lab",
      lab: { name: `rehearsal-${plan}` },
      policyPacks: ["policies"],
      progress,
      signal: stop.signal,
    });
    try {
      report.fact("Kubernetes", bench.lab.versions.kubernetes);
      report.fact("etcd", bench.lab.versions.etcd);
      await REHEARSALS[plan](bench, report);
    } finally {
      await bench.close({ keep: values.keep });
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
  await report.write(path.join(project, values.out));
  progress(`report: ${path.join(values.out, "rehearsal.md")}`);
  process.stdout.write(`${report.passed} passed, ${report.failed} failed\n`);
  return report.failed === 0 && process.exitCode !== 1 ? 0 : 1;
}

process.exitCode = await main();
