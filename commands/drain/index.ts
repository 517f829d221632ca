/** U4 and every drain of a rollout: one function, used by the drain command and by the upgrade of nodes. */
import { z } from "zod";
import { forecastDrain } from "../../analysis/drain-forecast.ts";
import { readInventory } from "../../cluster/inventory.ts";
import { printTable } from "../../cluster/tables.ts";
import { defineCommand, Refusal, type Context } from "../context.ts";
import { judge } from "../../analysis/conditions/index.ts";
import { holdsSteadily } from "../steady.ts";
import { DrainEngine } from "./engine.ts";
import { Journal } from "./journal.ts";
import { drainText } from "./text.ts";
import { DrainView } from "./view.ts";

export const DrainSpec = z.strictObject({
  nodes: z.array(z.string()).min(1),
  acknowledge: z.array(z.string()),
  maxNodesAtOnce: z.number().int().min(1),
  timeoutSeconds: z.number().positive(),
  readySeconds: z.number().nonnegative(),
  terminationSeconds: z.number().nonnegative(),
  /** First attempt at the stage: a run after an interruption goes on in the same journal. */
  since: z.number().int(),
});
export type DrainSpec = z.output<typeof DrainSpec>;

export interface DrainReport {
  readonly nodes: readonly string[];
  readonly journal: string;
  readonly evicted: number;
  readonly seconds: number;
  readonly forecastSeconds: number;
  /** As kubectl prints a drain. */
  readonly output: readonly string[];
}

/**
 * Cordons and empties the nodes. Throws Refusal before anything is changed when a pod may not be evicted or a budget
 * forbids it for good, and later when it gets stuck.
 */
export async function drainNodes(context: Context, spec: DrainSpec): Promise<DrainReport> {
  const watches = new AbortController();
  try {
    const view = await DrainView.open(context.api, AbortSignal.any([context.signal, watches.signal]));
    const demand = { nodes: [...spec.nodes], acknowledge: [...spec.acknowledge] };
    const refusals = judge({ inventory: view.start }, { condition: "drain-allowed", with: demand }).filter(
      (finding) => finding.severity === "refuse",
    );
    if (refusals.length > 0) throw new Refusal("the drain was not begun: no node was cordoned", refusals);
    const forecast = forecastDrain(view.start, spec.nodes, { ...spec, acknowledged: spec.acknowledge });
    const file = await context.path(
      "evidence",
      context.document.stage,
      `evictions-${spec.since}-${spec.nodes[0] ?? ""}.jsonl`,
    );
    const journal = await Journal.open(file);
    const started = context.now().getTime();
    await new DrainEngine(context, spec, view, journal).run();
    return {
      nodes: spec.nodes,
      journal: file,
      evicted: journal.entries.filter((entry) => entry.event === "gone").length,
      seconds: (context.now().getTime() - started) / 1_000,
      forecastSeconds: forecast.expectedSeconds,
      output: drainText(spec.nodes, view, journal),
    };
  } finally {
    watches.abort();
  }
}

export const drain = defineCommand({
  spec: DrainSpec.extend({
    /** Namespace whose pods are listed in after-drain.txt; null: no artefacts (the way back leaves them alone). */
    listNamespace: z.string().nullable(),
  }),
  mutates: true,
  run: async (context, { listNamespace, ...spec }) => {
    const report = await drainNodes(context, spec);
    if (listNamespace !== null) {
      await context.artefact("drain.txt", `${report.output.join("\n")}\n`);
      await context.artefact(
        "after-drain.txt",
        `${(await listSettled(context, spec, listNamespace)).join("\n")}\n`,
      );
    }
    return {
      summary:
        `${report.nodes.join(", ")} drained: ${report.evicted} evictions in ${report.seconds.toFixed(1)} s ` +
        `(forecast ${report.forecastSeconds.toFixed(1)} s)`,
      seen: { ...report },
    };
  },
});

/** Where the pods are once the substitutes are Ready: before that the list would not say where they will run. */
async function listSettled(context: Context, spec: DrainSpec, namespace: string): Promise<string[]> {
  const steady = { successes: 1, intervalSeconds: 0.5, timeoutSeconds: spec.timeoutSeconds };
  const { findings } = await holdsSteadily(context, steady, async () => {
    const inventory = await readInventory(context.api);
    const workloads = inventory.workloads.filter((workload) => workload.namespace === namespace);
    return judge({ inventory: { ...inventory, workloads } }, { condition: "workloads-ready", with: {} });
  });
  if (findings.length > 0) throw new Refusal("the substitutes of the evicted pods are not Ready", findings);
  return (await printTable(context.api, `/api/v1/namespaces/${namespace}/pods`, true)).slice(1);
}
