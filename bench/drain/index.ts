/** This project's drain against `kubectl drain -l`: same cluster, same pods, same budgets, one after the other. */
import path from "node:path";
import { ensure } from "../../toolchain/index.ts";
import { load } from "../machine.ts";
import { runMeasured, type Measured } from "../measured-process.ts";
import { ratios, type BenchResult, type Figure } from "../result.ts";
import { MAX_UNAVAILABLE, READY_SECONDS, REPLICAS, TERMINATION_SECONDS } from "../shape.ts";
import type { BenchContext } from "../context.ts";
import { endOf, evictionsSince, type Evictions } from "./audit.ts";
import { Field, POOL_LABEL, type Pool } from "./field.ts";
import type { DrainJob, DrainJobReport } from "./worker.ts";

type Tool = "ours" | "kubectl";

export interface DrainBenchSettings {
  readonly name: string;
  readonly nodes: number;
  readonly pods: number;
  readonly pairs: number;
  readonly timeoutSeconds: number;
}

interface Run {
  readonly process: Measured;
  /** From the start of the tool until every substitute is Ready. */
  readonly settledSeconds: number;
  readonly evictions: Evictions;
  /** Ours only. */
  readonly forecastSeconds: number | null;
}

const other = (pool: Pool): Pool => (pool === "a" ? "b" : "a");
const mean = ([from, to]: readonly [number, number]): number => (from + to) / 2;

export async function benchDrain(context: BenchContext, settings: DrainBenchSettings): Promise<BenchResult> {
  const { progress, signal } = context;
  const started = performance.now();
  const loadAtStart = load();
  const kubectl = (await ensure(["kubectl"], { progress, signal })).get("kubectl")?.path;
  if (kubectl === undefined) throw new Error("the toolchain has no kubectl: see toolchain/README.md");
  const dir = path.join(context.labs, settings.name);
  const { name, nodes, pods } = settings;
  const field = await Field.open({ name, dir: path.join(dir, "cluster"), nodes, pods, signal, progress });
  const runs: Record<Tool, Run[]> = { ours: [], kubectl: [] };
  try {
    let full: Pool = "a";
    for (let pair = 0; pair < settings.pairs; pair += 1) {
      // Who goes first changes from pair to pair: a cluster that grows older must not favour one of the two.
      for (const tool of pair % 2 === 0 ? (["ours", "kubectl"] as const) : (["kubectl", "ours"] as const)) {
        const run = await drainOnce(field, tool, full, settings, {
          kubectl,
          out: path.join(dir, "out"),
          signal,
        });
        runs[tool].push(run);
        progress(
          `pair ${pair + 1} of ${settings.pairs}, ${tool}: ${run.process.seconds.toFixed(1)} s, ` +
            `${run.evictions.accepted} evictions, ${run.evictions.refused} refused`,
        );
        await field.reopen(full);
        full = other(full);
      }
    }
  } finally {
    await field.close();
  }
  return {
    name: settings.name,
    about: `This project's drain of ${settings.nodes} nodes at once against \`kubectl drain -l\` on the same cluster, one after the other.`,
    settings: {
      nodes: settings.nodes,
      pods: settings.pods,
      "pods a Deployment": REPLICAS,
      maxUnavailable: MAX_UNAVAILABLE,
      "Ready after": `${READY_SECONDS.join(" to ")} s`,
      "gone after": `${TERMINATION_SECONDS.join(" to ")} s`,
      pairs: settings.pairs,
    },
    loadAtStart,
    tookSeconds: (performance.now() - started) / 1_000,
    figures: figuresOf(runs),
  };
}

async function drainOnce(
  field: Field,
  tool: Tool,
  pool: Pool,
  settings: DrainBenchSettings,
  { kubectl, out, signal }: { kubectl: string; out: string; signal: AbortSignal },
): Promise<Run> {
  const { kubeconfig, context } = field.lab;
  const nodes = field.nodesOf(pool);
  const from = await endOf(field.auditLog);
  const started = performance.now();
  let measured: Measured;
  let forecastSeconds: number | null = null;
  if (tool === "kubectl") {
    measured = await runMeasured(
      kubectl,
      [
        `--kubeconfig=${kubeconfig}`,
        `--context=${context}`,
        `--cache-dir=${path.join(out, "kubectl-cache")}`,
        "drain",
        `--selector=${POOL_LABEL}=${pool}`,
        "--ignore-daemonsets",
        `--timeout=${settings.timeoutSeconds}s`,
      ],
      { signal },
    );
  } else {
    const job: DrainJob = {
      kubeconfig,
      context,
      out,
      spec: {
        nodes,
        acknowledge: [],
        maxNodesAtOnce: nodes.length,
        timeoutSeconds: settings.timeoutSeconds,
        readySeconds: mean(READY_SECONDS),
        terminationSeconds: mean(TERMINATION_SECONDS),
        // One journal a drain.
        since: Date.now(),
      },
    };
    const worker = path.join(import.meta.dirname, "worker.ts");
    measured = await runMeasured(process.execPath, [worker], { input: JSON.stringify(job), signal });
    forecastSeconds = (JSON.parse(measured.stdout) as DrainJobReport).forecastSeconds;
  }
  await field.settled();
  const settledSeconds = (performance.now() - started) / 1_000;
  const evictions = await evictionsSince(field.auditLog, from);
  if (evictions.accepted !== settings.pods) {
    throw new Error(
      `${tool}: ${evictions.accepted} evictions for ${settings.pods} pods: some moved twice or not at all`,
    );
  }
  return { process: measured, settledSeconds, evictions, forecastSeconds };
}

function figuresOf({ ours, kubectl }: Record<Tool, readonly Run[]>): Figure[] {
  const of = (runs: readonly Run[], pick: (run: Run) => number | null): number[] =>
    runs.map((run) => pick(run) ?? Number.NaN);
  const seconds = (run: Run): number => run.process.seconds;
  const settled = (run: Run): number => run.settledSeconds;
  const both = (name: string, unit: Figure["unit"], pick: (run: Run) => number | null): Figure[] => [
    { name: `${name}, ours`, unit, values: of(ours, pick) },
    { name: `${name}, kubectl`, unit, values: of(kubectl, pick) },
  ];
  return [
    ratios("kubectl's time to ours", of(kubectl, seconds), of(ours, seconds)),
    ratios(
      "ours until all is Ready, to its forecast",
      of(ours, settled),
      of(ours, (run) => run.forecastSeconds),
    ),
    ...both("drain", "s", seconds),
    ...both("until all is Ready", "s", settled),
    { name: "forecast", unit: "s", values: of(ours, (run) => run.forecastSeconds) },
    ...both("evictions refused (429)", "requests", (run) => run.evictions.refused),
    ...both("processor time", "s", (run) => run.process.cpuSeconds),
    ...both("machine busy meanwhile", "%", (run) => run.process.machineBusy * 100),
    ...both("peak memory", "MiB", (run) => run.process.peakMiB),
  ];
}
