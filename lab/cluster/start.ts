import { rm } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Api, ApiError, list, text } from "./api.ts";
import { fromToolchain, type Binaries, type FindBinaries } from "./binaries.ts";
import { apiserverUrl, launchOf, writeComponentFiles } from "./components.ts";
import { nodesOf, parseLabConfig, type LabConfigInput } from "./config.ts";
import { LabError, messageOf } from "./errors.ts";
import { createPki } from "./certificates.ts";
import { claimFolder, wipeData } from "./folder.ts";
import { waitHealthy } from "./health.ts";
import { COMPONENTS, layoutOf, type Component, type Layout } from "./layout.ts";
import { withLock } from "./lock.ts";
import { publish } from "../machine/repository.ts";
import { initialMachines } from "../machine/state.ts";
import { withV } from "../machine/versions.ts";
import { allowKwok, createNodes, isReady, writeKubeadmConfig } from "./objects.ts";
import type { Pki } from "./pki.ts";
import { pickPorts, type Ports } from "./ports.ts";
import { start } from "./process.ts";
import { readState, writeState, type LabState } from "./state.ts";
import { statusOf } from "./status.ts";
import { stopProcesses } from "./stop.ts";

export interface StartOptions {
  readonly dir: string;
  readonly progress?: ((line: string) => void) | undefined;
  /** Aborted: what was started is stopped, and the start rejects. */
  readonly signal?: AbortSignal | undefined;
  /** Where the programs come from; the toolchain unless a test says otherwise. */
  readonly findBinaries?: FindBinaries | undefined;
  /** Which ports to try; free ones picked at random unless a test says otherwise. */
  readonly choosePorts?: (() => Promise<Ports>) | undefined;
}

/** How long a single process may take to be healthy; a busy shared runner needs several times the usual. */
const HEALTH_LIMIT_MS = 60_000;
const PORT_ATTEMPTS = 5;

interface Context {
  readonly layout: Layout;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * Starts a lab and returns its state when all is ready: every process healthy, every Node Ready and free of the
 * not-ready taint, the default service account there, so that a pod can be made at once.
 *
 * On failure or abort everything that was started is stopped; the logs stay.
 */
export async function startState(input: LabConfigInput, options: StartOptions): Promise<LabState> {
  const config = parseLabConfig(input);
  const layout = layoutOf(options.dir);
  const context: Context = {
    layout,
    progress: options.progress ?? (() => undefined),
    signal: options.signal,
  };
  await claimFolder(layout);
  return withLock(layout, "`lab up`", async () => {
    await clearRemains(context);
    options.signal?.throwIfAborted();
    const find = options.findBinaries ?? fromToolchain;
    const binaries = await find(config.kubernetes, { progress: context.progress, signal: options.signal });
    await publish(layout, config.kubernetes, binaries);
    const pki = await createPki(layout, config.name);
    try {
      for (let attempt = 1; ; attempt++) {
        const state = initialState(config, binaries, await (options.choosePorts ?? pickPorts)());
        try {
          return await bringUp(context, state, pki);
        } catch (error) {
          // Another program took a port between our look and the bind; nothing was served yet, so begin again.
          if (attempt >= PORT_ATTEMPTS || !/address already in use/iu.test(messageOf(error))) throw error;
          context.progress(
            `a port was taken meanwhile (attempt ${attempt} of ${PORT_ATTEMPTS}); trying others`,
          );
          await stopProcesses(layout);
          await rm(layout.etcd, { recursive: true, force: true });
        }
      }
    } catch (error) {
      context.progress("stopping what was started");
      await stopProcesses(layout);
      throw error;
    }
  });
}

/**
 * What an earlier lab left in the folder. A whole one is refused: it may be someone's rehearsal in progress. One
 * that is not whole is ended and its data removed, because a control plane with a dead part, or one whose start
 * was cut off, is no ground for a rehearsal, and the state of a lab is not worth a repair.
 */
async function clearRemains({ layout, progress }: Context): Promise<void> {
  const state = await readState(layout).catch(() => undefined);
  if (state?.phase === "ready" && (await statusOf(layout, state)).healthy) {
    throw new LabError(
      `the lab ${state.name} runs in ${layout.dir}, whole and healthy; use it (\`lab status\`), or end it first: \`lab down --dir ${layout.dir}\``,
    );
  }
  const stopped = await stopProcesses(layout);
  if (state || stopped.length > 0) {
    const what = stopped.length > 0 ? `stopped ${stopped.join(", ")}` : "nothing of it ran any more";
    progress(`an earlier lab left its remains here: ${what}; starting anew`);
  }
  await wipeData(layout);
}

function initialState(config: LabState["config"], binaries: Binaries, ports: Ports): LabState {
  const component = (name: Component): { version: string; file: string } => {
    const { version, path } = binaries[name];
    return { version: name === "etcd" ? version.replace(/^v/u, "") : withV(version), file: path };
  };
  return {
    format: 1,
    name: config.name,
    createdAt: new Date().toISOString(),
    phase: "starting",
    config,
    ports,
    components: {
      etcd: component("etcd"),
      "kube-apiserver": component("kube-apiserver"),
      "kube-controller-manager": component("kube-controller-manager"),
      "kube-scheduler": component("kube-scheduler"),
      kwok: component("kwok"),
    },
  };
}

async function bringUp(context: Context, state: LabState, pki: Pki): Promise<LabState> {
  const { layout, progress } = context;
  await writeState(layout, state);
  await writeComponentFiles(layout, state);
  const began = Date.now();
  const seconds = (): string => `${((Date.now() - began) / 1000).toFixed(1)} s`;

  await launch(context, state, "etcd");
  progress(`etcd ${state.components.etcd.version} healthy after ${seconds()}`);
  await launch(context, state, "kube-apiserver");
  progress(`kube-apiserver ${state.components["kube-apiserver"].version} ready after ${seconds()}`);

  const api = await Api.connect(apiserverUrl(state), pki.ca.cert, pki.admin);
  try {
    const version =
      text(await api.get("/version"), "gitVersion") ?? state.components["kube-apiserver"].version;
    await allDone([
      launch(context, state, "kube-controller-manager"),
      launch(context, state, "kube-scheduler"),
      (async () => {
        await allowKwok(api);
        await createNodes(api, state.config, version);
        await launch(context, state, "kwok");
      })(),
      writeKubeadmConfig(api, state.name, version),
      initialMachines(layout, nodesOf(state.config), version),
    ]);
    await waitUsable(context, api, nodesOf(state.config).length);
  } finally {
    api.close();
  }
  const ready: LabState = { ...state, phase: "ready" };
  await writeState(layout, ready);
  progress(`ready after ${seconds()}: ${COMPONENTS.length} processes, ${nodesOf(state.config).length} nodes`);
  return ready;
}

/** Like Promise.all, but fails only when nothing is at work any more: what is started late must not escape the clean-up. */
async function allDone(work: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((each) => each.status === "rejected");
  if (failed) throw failed.reason;
}

async function launch({ layout, signal }: Context, state: LabState, name: Component): Promise<void> {
  signal?.throwIfAborted();
  await start(layout, launchOf(name, layout, state));
  await waitHealthy(name, layout, state, { limitMs: HEALTH_LIMIT_MS, signal });
}

/** Waits for what a pod needs: Nodes that are Ready and untainted, and the default service account. */
async function waitUsable({ signal }: Context, api: Api, count: number): Promise<void> {
  const deadline = Date.now() + HEALTH_LIMIT_MS + count * 200;
  for (;;) {
    signal?.throwIfAborted();
    const missing = await notUsable(api, count);
    if (missing === undefined) return;
    if (Date.now() > deadline)
      throw new LabError(`the lab's processes are healthy, but ${missing}; see its logs`);
    await sleep(100);
  }
}

async function notUsable(api: Api, count: number): Promise<string | undefined> {
  const nodes = list(await api.get("/api/v1/nodes"), "items");
  const usable = nodes.filter(
    (node) =>
      isReady(node) && !list(node, "spec", "taints").some((taint) => text(taint, "key") === NOT_READY),
  );
  if (usable.length < count) return `only ${usable.length} of ${count} nodes are Ready`;
  try {
    await api.get("/api/v1/namespaces/default/serviceaccounts/default");
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return "there is no default service account";
    throw error;
  }
}

const NOT_READY = "node.kubernetes.io/not-ready";
