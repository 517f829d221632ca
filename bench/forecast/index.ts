/** The drain forecast that a preview shows: how long it computes for how many seconds of draining, and in what memory. */
import path from "node:path";
import type { BenchContext } from "../context.ts";
import { load } from "../machine.ts";
import { runMeasured } from "../measured-process.ts";
import { ratios, type BenchResult, type Figure } from "../result.ts";
import type { ForecastJob, ForecastJobReport } from "./worker.ts";

export interface ForecastBenchSettings {
  readonly rounds: number;
}

const SIZES = [
  { nodes: 200, pods: 3_000 },
  { nodes: 5_000, pods: 150_000 },
] as const;
/** One after the other, as a rollout's batches go, and all that the budgets allow. */
const WIDTHS = [
  { name: "one node at a time", of: () => 1 },
  { name: "all at once", of: (nodes: number) => nodes },
];

export async function benchForecast(
  { signal, progress }: BenchContext,
  { rounds }: ForecastBenchSettings,
): Promise<BenchResult> {
  const started = performance.now();
  const loadAtStart = load();
  const figures: Figure[] = [];
  for (const { nodes, pods } of SIZES) {
    for (const width of WIDTHS) {
      const title = `${nodes.toLocaleString("en")} nodes, ${pods.toLocaleString("en")} pods, ${width.name}`;
      const reports: ForecastJobReport[] = [];
      for (let round = 0; round < rounds; round += 1) {
        reports.push(await forecastOnce({ nodes, pods, maxNodesAtOnce: width.of(nodes) }, signal));
      }
      const values = (pick: (report: ForecastJobReport) => number): number[] => reports.map(pick);
      const computed = values((report) => report.computedSeconds);
      const simulated = values((report) => report.simulatedSeconds);
      figures.push(
        ratios(`${title}: seconds simulated in a second`, simulated, computed),
        { name: `${title}: computed in`, unit: "s", values: computed },
        { name: `${title}: the drain it foresees`, unit: "s", values: simulated },
        { name: `${title}: peak memory`, unit: "MiB", values: values((report) => report.peakMiB) },
        {
          name: `${title}: of it before it began`,
          unit: "MiB",
          values: values((report) => report.inventoryMiB),
        },
      );
      progress(`forecast, ${title}: done`);
    }
  }
  return {
    name: "forecast",
    about:
      "The forecast of a drain: seconds of draining simulated in one second of computing, each in a fresh process.",
    settings: { rounds },
    loadAtStart,
    tookSeconds: (performance.now() - started) / 1_000,
    figures,
  };
}

async function forecastOnce(job: ForecastJob, signal: AbortSignal): Promise<ForecastJobReport> {
  const worker = path.join(import.meta.dirname, "worker.ts");
  const { stdout } = await runMeasured(process.execPath, [worker, JSON.stringify(job)], { signal });
  const report = JSON.parse(stdout) as ForecastJobReport;
  if (report.evictions !== job.pods)
    throw new Error(`the forecast evicts ${report.evictions} of ${job.pods} pods`);
  return report;
}
