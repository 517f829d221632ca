/** The config of a stack of plan `upgrade` on a lab: the source's example unless told otherwise. */
import type { Bench, StackConfigValues } from "./bench.ts";

/** Versions that the lab's second control plane has: see the toolchain's pins. */
export const UPGRADE_TARGET = "v1.35.4";

/** @param overrides  settings of the plan that replace the ones here, e.g. `{ verify: … }` */
export function upgradeConfig(bench: Bench, overrides: StackConfigValues = {}): StackConfigValues {
  const { lab, options } = bench;
  return {
    plan: "upgrade",
    stage: "inventory",
    cluster: { name: lab.name, kubeconfig: relative(lab.kubeconfig, options.project), context: lab.context },
    out: options.out,
    upgrade: {
      target: UPGRADE_TARGET,
      drill: { node: "lab-node-1" },
      drain: { readySeconds: 2, terminationSeconds: 1, timeoutSeconds: 120 },
      etcd: {
        endpoints: lab.etcd.endpoints,
        cacert: relative(lab.etcd.ca, options.project),
        cert: relative(lab.etcd.cert, options.project),
        key: relative(lab.etcd.key, options.project),
      },
      machine: { exec: bench.onNode, timeoutSeconds: 120 },
      skewTemplate: "lab/fixtures/skew-template.yaml",
      verify: { successes: 3, intervalSeconds: 0.5, timeoutSeconds: 60, gateTimeoutSeconds: 30 },
      ...overrides,
    },
  };
}

/** As a person would write it in a config: no path of this machine. */
function relative(file: string, project: string): string {
  return file.startsWith(`${project}/`) ? file.slice(project.length + 1) : file;
}
