/** `make bench`: what is claimed about speed, as ratios measured in one run. See docs/benchmarks.md. */
import { rm } from "node:fs/promises";
import path from "node:path";
import { parseArgs } from "node:util";
import type { BenchContext } from "./context.ts";
import { benchDrain } from "./drain/index.ts";
import { benchForecast } from "./forecast/index.ts";
import { describeMachine } from "./machine.ts";
import { benchPreview } from "./preview.ts";
import { table, write } from "./report.ts";
import type { BenchResult } from "./result.ts";

const HELP = `Measures what is claimed about speed, on this machine alone, as ratios of one run.

  node bench/main.ts [--only NAME]… [--full] [--out out]

  --only NAME   only this bench: drain, forecast, preview, drain-200 (may be given again)
  --full        also drain-200: 200 nodes and 3,000 pods, a quarter of an hour by itself
  --nodes N     nodes in each pool of bench drain (default: 20)
  --pods N      pods of bench drain, in Deployments of 20 (default: 300)
  --pairs N     pairs of drains of bench drain (default: 2)
  --rounds N    rounds of forecast and preview (default: 5)
  --out DIR     where bench.json and bench.md go (default: out)

The default run takes about eight minutes on two idle cores. Other work on the machine blurs every figure: the load at
the start of each bench is written beside them.
`;

const NAMES = ["drain", "forecast", "preview", "drain-200"] as const;
type Name = (typeof NAMES)[number];

const stop = new AbortController();

async function main(): Promise<number> {
  const values = readArguments();
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const [nodes, pods, pairs, rounds] = (["nodes", "pods", "pairs", "rounds"] as const).map((name) =>
    count(`--${name}`, values[name]),
  ) as [number, number, number, number];
  if (pods % 20 !== 0)
    throw new UsageError(`--pods ${pods}: Deployments have 20 pods each, so give a multiple of 20`);
  const chosen = choose(values.only, values.full);

  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(name, () => {
      stop.abort(new Error(`stopped by ${name}; what was measured until then is in ${values.out}`));
    });
  }
  const project = path.resolve(import.meta.dirname, "..");
  const started = performance.now();
  const context: BenchContext = {
    project,
    labs: path.join(project, ".lab", `bench-${process.pid}`),
    signal: stop.signal,
    progress: (line) => {
      process.stderr.write(`[${((performance.now() - started) / 1_000).toFixed(0).padStart(4)} s] ${line}\n`);
    },
  };
  const benches: Record<Name, () => Promise<BenchResult>> = {
    drain: () => benchDrain(context, { name: "drain", nodes, pods, pairs, timeoutSeconds: 900 }),
    forecast: () => benchForecast(context, { rounds }),
    preview: () => benchPreview(context, { rounds }),
    "drain-200": () =>
      benchDrain(context, { name: "drain-200", nodes: 200, pods: 3_000, pairs: 1, timeoutSeconds: 1_800 }),
  };
  const machine = await describeMachine();
  const results: BenchResult[] = [];
  try {
    for (const name of chosen) {
      stop.signal.throwIfAborted();
      const result = await benches[name]();
      results.push(result);
      process.stdout.write(`\n${result.about}\n\n${table(result)}\n\n`);
      // After each: what was measured stays when a later bench fails.
      await write(path.resolve(project, values.out), machine, results);
    }
  } finally {
    await rm(context.labs, { recursive: true, force: true });
  }
  context.progress(`figures: ${path.join(values.out, "bench.md")} and bench.json`);
  return 0;
}

class UsageError extends Error {}

function readArguments() {
  try {
    return parseArgs({
      options: {
        only: { type: "string", multiple: true, default: [] },
        full: { type: "boolean", default: false },
        nodes: { type: "string", default: "20" },
        pods: { type: "string", default: "300" },
        pairs: { type: "string", default: "2" },
        rounds: { type: "string", default: "5" },
        out: { type: "string", default: "out" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    throw new UsageError(`${(error as Error).message}; --help lists the options`);
  }
}

function count(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new UsageError(`${flag} ${text}: a whole number from 1`);
  return value;
}

function choose(only: readonly string[], full: boolean): readonly Name[] {
  const unknown = only.filter((name) => !(NAMES as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new UsageError(`there is no bench ${unknown.join(", ")}: ${NAMES.join(", ")}`);
  if (only.length > 0) return NAMES.filter((name) => only.includes(name));
  return NAMES.filter((name) => full || name !== "drain-200");
}

try {
  process.exitCode = await main();
} catch (caught) {
  // Whatever an abort made fail: the reason is the signal.
  const error: unknown = stop.signal.aborted ? stop.signal.reason : caught;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = stop.signal.aborted ? 130 : error instanceof UsageError ? 2 : 1;
}
