/** Forecasts one drain in a process of its own, so that its peak memory is of nothing else. Argument: the job as JSON. */
import { forecastDrain } from "../../analysis/drain-forecast.ts";
import { fleet } from "./fleet.ts";

export interface ForecastJob {
  readonly nodes: number;
  readonly pods: number;
  readonly maxNodesAtOnce: number;
}

export interface ForecastJobReport {
  readonly computedSeconds: number;
  readonly simulatedSeconds: number;
  readonly evictions: number;
  /** Of the whole process, the inventory included. */
  readonly peakMiB: number;
  /** When the inventory was there and nothing was computed yet. */
  readonly inventoryMiB: number;
}

const peak = (): number => process.resourceUsage().maxRSS / 1024;

const job = JSON.parse(process.argv[2] ?? "") as ForecastJob;
const inventory = fleet(job.nodes, job.pods);
const names = inventory.nodes.map(({ name }) => name);
const inventoryMiB = peak();
const started = performance.now();
const forecast = forecastDrain(inventory, names, {
  maxNodesAtOnce: job.maxNodesAtOnce,
  readySeconds: 6,
  terminationSeconds: 1,
});
const report: ForecastJobReport = {
  computedSeconds: (performance.now() - started) / 1_000,
  simulatedSeconds: forecast.expectedSeconds,
  evictions: forecast.evictions.length,
  peakMiB: peak(),
  inventoryMiB,
};
process.stdout.write(JSON.stringify(report));
