/**
 * A lab: one real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler) with
 * kubelets simulated by kwok, as plain processes on loopback, all state under one folder. See lab/README.md.
 */
import { apiserverUrl, etcdUrl } from "./components.ts";
import type { LabConfigInput } from "./config.ts";
import { layoutOf, type Layout } from "./layout.ts";
import { pkiOf } from "./pki.ts";
import type { StartOptions } from "./start.ts";
import { requireState, type LabState } from "./state.ts";
import { statusOf, type LabStatus } from "./status.ts";
import { stopLab, type StopResult } from "./stop.ts";

export { parseLabConfig, readLabConfig, type LabConfig, type LabConfigInput } from "./config.ts";
export { LabError, type Problem } from "./errors.ts";
export { formatStatus, type LabStatus } from "./status.ts";
export type { StartOptions } from "./start.ts";
export { stopLab, type StopResult } from "./stop.ts";

/** A lab that was started, by this process or another. */
export interface Lab {
  readonly dir: string;
  readonly name: string;
  /** Path of a kubeconfig that needs no other file; its only context is `context`, its user a cluster administrator. */
  readonly kubeconfig: string;
  readonly context: string;
  /** `https://127.0.0.1:<port>` */
  readonly apiServer: string;
  /** What `etcdctl --endpoints --cacert --cert --key` needs. */
  readonly etcd: {
    readonly endpoints: readonly string[];
    readonly ca: string;
    readonly cert: string;
    readonly key: string;
  };
  /** As they were when the lab was started or loaded; `kubeadm upgrade apply` changes the first. */
  readonly versions: { readonly kubernetes: string; readonly etcd: string; readonly kwok: string };
  status(): Promise<LabStatus>;
  stop(options?: { keepLogs?: boolean }): Promise<StopResult>;
}

/**
 * Starts a lab in `options.dir` and resolves when it is ready for use.
 * @throws LabError when the configuration is wrong (every problem at once), when a lab runs there already, or when
 * a process does not come up (with the end of its log); nothing is left running then.
 */
export async function startLab(config: LabConfigInput, options: StartOptions): Promise<Lab> {
  // Loaded late: making certificates takes a library that status, down and on-node have no use for.
  const { startState } = await import("./start.ts");
  return labOf(layoutOf(options.dir), await startState(config, options));
}

/** The lab that was started in `dir`, running or not. */
export async function loadLab(dir: string): Promise<Lab> {
  const layout = layoutOf(dir);
  return labOf(layout, await requireState(layout));
}

function labOf(layout: Layout, state: LabState): Lab {
  const pki = pkiOf(layout);
  return {
    dir: layout.dir,
    name: state.name,
    kubeconfig: layout.kubeconfig,
    context: state.name,
    apiServer: apiserverUrl(state),
    etcd: {
      endpoints: [etcdUrl(state)],
      ca: pki.etcdCa.cert,
      cert: pki.etcdClient.cert,
      key: pki.etcdClient.key,
    },
    versions: {
      kubernetes: state.components["kube-apiserver"].version,
      etcd: state.components.etcd.version,
      kwok: state.components.kwok.version,
    },
    status: async () => statusOf(layout, await requireState(layout)),
    stop: (options = {}) => stopLab(layout.dir, options),
  };
}
