import { resolve } from "node:path";

/** The control plane's processes, in the order in which they are started. */
export const COMPONENTS = [
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kwok",
] as const;
export type Component = (typeof COMPONENTS)[number];

/** Where everything of a lab lives: one folder, nothing outside it. All paths are absolute. */
export interface Layout {
  readonly dir: string;
  /** Certificates and keys (mode 0600). */
  readonly pki: string;
  /** etcd's data folder. */
  readonly etcd: string;
  /** One log per process and one per machine; appended to, never truncated. */
  readonly logs: string;
  /** `<component>.pid` of each process, and the lock. */
  readonly run: string;
  /** Files made for the processes: kubeconfigs, kwok's stages, the scheduler's and the audit's configuration. */
  readonly etc: string;
  /** One JSON file per machine: its packages and its kubelet. */
  readonly machines: string;
  readonly kubeconfig: string;
  readonly state: string;
  /** Faults to inject, written by whoever tests (lab/machine/faults.ts). */
  readonly faults: string;
  /** The Kubernetes releases that the machines' `apt-get` has, as they were fetched. */
  readonly repository: string;
}

export function layoutOf(dir: string): Layout {
  const root = resolve(dir);
  const at = (name: string): string => resolve(root, name);
  return {
    dir: root,
    pki: at("pki"),
    etcd: at("etcd"),
    logs: at("logs"),
    run: at("run"),
    etc: at("etc"),
    machines: at("machines"),
    kubeconfig: at("kubeconfig.yaml"),
    state: at("lab.json"),
    faults: at("faults.json"),
    repository: at("repository.json"),
  };
}

export function logOf(layout: Layout, name: string): string {
  return resolve(layout.logs, `${name}.log`);
}
