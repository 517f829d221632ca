/** One drain by this project's engine, in a process of its own as in a stack: what to do on stdin, the report on stdout. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { text as readText } from "node:stream/consumers";
import { openCluster } from "../../cluster/connect.ts";
import type { Context } from "../../commands/context.ts";
import type { CommandDocument } from "../../commands/document.ts";
import { drainNodes, type DrainSpec } from "../../commands/drain/index.ts";
import { stopSignal } from "../../commands/stop.ts";

export interface DrainJob {
  readonly kubeconfig: string;
  readonly context: string;
  readonly out: string;
  readonly spec: DrainSpec;
}

/** What the bench reads of the report. */
export interface DrainJobReport {
  readonly evicted: number;
  readonly seconds: number;
  readonly forecastSeconds: number;
}

const job = JSON.parse(await readText(process.stdin)) as DrainJob;
const document: CommandDocument = {
  command: "drain",
  stack: "organization/cluster-migration/bench",
  plan: "upgrade",
  stage: "bench",
  irreversible: false,
  history: false,
  cluster: { kubeconfig: job.kubeconfig, context: job.context },
  bound: { clusterUid: null, nodes: {} },
  out: job.out,
  spec: {},
};
const context: Context = {
  document,
  input: null,
  api: openCluster(document.cluster),
  signal: stopSignal(),
  // To standard error, as the real command does: printing is part of the work.
  progress: (line) => {
    process.stderr.write(`${line}\n`);
  },
  now: () => new Date(),
  artefact: () => Promise.reject(new Error("drainNodes writes no artefact")),
  path: async (...parts) => {
    const file = path.join(job.out, ...parts);
    await mkdir(path.dirname(file), { recursive: true });
    return file;
  },
};
const { evicted, seconds, forecastSeconds } = await drainNodes(context, job.spec);
process.stdout.write(JSON.stringify({ evicted, seconds, forecastSeconds } satisfies DrainJobReport));
// Watches may still hold the event loop; the work is done.
process.exit();
