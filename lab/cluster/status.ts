import { Api, list, text } from "./api.ts";
import { apiserverUrl } from "./components.ts";
import { probe } from "./health.ts";
import { isAlive } from "./identity.ts";
import { COMPONENTS, type Component, type Layout } from "./layout.ts";
import { readyStatus } from "./objects.ts";
import { pkiOf } from "./pki.ts";
import { processOf } from "./process.ts";
import type { LabState } from "./state.ts";

export interface ProcessStatus {
  readonly name: Component;
  readonly version: string;
  readonly pid: number | undefined;
  readonly alive: boolean;
  /** Its own health answer; only asked when it is alive. */
  readonly healthy: boolean;
  readonly answer: string;
}

export interface NodeStatus {
  readonly name: string;
  readonly ready: string;
  readonly schedulable: boolean;
  readonly kubeletVersion: string;
}

export interface LabStatus {
  readonly name: string;
  readonly dir: string;
  readonly phase: LabState["phase"];
  readonly processes: readonly ProcessStatus[];
  /** The API server says it is ready, and lists nodes. */
  readonly apiReady: boolean;
  readonly nodes: readonly NodeStatus[];
  /** All processes alive and healthy, the API ready. Nodes may be NotReady: a rehearsal does that on purpose. */
  readonly healthy: boolean;
}

export async function statusOf(layout: Layout, state: LabState): Promise<LabStatus> {
  const processes = await Promise.all(COMPONENTS.map((name) => processStatus(name, layout, state)));
  const apiserver = processes.find((each) => each.name === "kube-apiserver");
  // `/readyz` may still say yes for a moment after etcd has died; an API that cannot list nodes is not ready.
  const nodes =
    apiserver?.healthy === true ? await nodeStatus(layout, state).catch(() => undefined) : undefined;
  return {
    name: state.name,
    dir: layout.dir,
    phase: state.phase,
    processes,
    apiReady: nodes !== undefined,
    nodes: nodes ?? [],
    healthy: nodes !== undefined && processes.every((each) => each.healthy),
  };
}

async function processStatus(name: Component, layout: Layout, state: LabState): Promise<ProcessStatus> {
  const id = await processOf(layout, name);
  const alive = id !== undefined && (await isAlive(id));
  const { version } = state.components[name];
  const { healthy, answer } = alive
    ? await probe(name, layout, state)
    : { healthy: false, answer: "not running" };
  return { name, version, pid: id?.pid, alive, healthy, answer };
}

async function nodeStatus(layout: Layout, state: LabState): Promise<NodeStatus[]> {
  const pki = pkiOf(layout);
  const api = await Api.connect(apiserverUrl(state), pki.ca.cert, pki.admin);
  try {
    return list(await api.get("/api/v1/nodes"), "items").map((node) => ({
      name: text(node, "metadata", "name") ?? "?",
      ready: readyStatus(node),
      schedulable: (node as { spec?: { unschedulable?: boolean } }).spec?.unschedulable !== true,
      kubeletVersion: text(node, "status", "nodeInfo", "kubeletVersion") ?? "?",
    }));
  } finally {
    api.close();
  }
}

/** A lab's status for people: one line per process and node. */
export function formatStatus(status: LabStatus): string {
  const rows = status.processes.map((each) => {
    const how = each.alive
      ? each.healthy
        ? "alive, healthy"
        : `alive, NOT healthy (${each.answer})`
      : "DEAD";
    return `  ${each.name.padEnd(24)}${each.version.padEnd(12)}pid ${String(each.pid ?? "-").padEnd(9)}${how}`;
  });
  const nodes = status.nodes.map((node) => {
    const ready = node.ready === "True" ? "Ready" : "NotReady";
    return `  ${node.name.padEnd(24)}${node.kubeletVersion.padEnd(12)}${ready}${node.schedulable ? "" : ",SchedulingDisabled"}`;
  });
  return [
    `lab ${status.name} in ${status.dir} (${status.phase})`,
    "processes",
    ...rows,
    `API ${status.apiReady ? "ready" : "NOT ready"}`,
    ...(nodes.length > 0 ? ["nodes", ...nodes] : []),
    "",
  ].join("\n");
}
