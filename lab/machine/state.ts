import { resolve } from "node:path";
import { z } from "zod";
import type { LabNode } from "../cluster/config.ts";
import { LabError, messageOf } from "../cluster/errors.ts";
import { readIfThere, writeAtomic } from "../cluster/files.ts";
import type { Layout } from "../cluster/layout.ts";
import { minorOf } from "./versions.ts";

/** The packages of an upgrade, and no others: what this machine's `apt-get` knows. */
export const PACKAGES = ["kubeadm", "kubelet", "kubectl"] as const;
export type Package = (typeof PACKAGES)[number];

const Version = z.string().regex(/^v1\.[0-9]+\.[0-9]+/u);

const MachineSchema = z.strictObject({
  node: z.string(),
  controlPlane: z.boolean(),
  /** What is installed, as the programs report it: `v1.34.4`. */
  packages: z.record(z.enum(PACKAGES), Version),
  held: z.array(z.enum(PACKAGES)),
  kubelet: z.strictObject({
    /** `failed`: started, but does not come back (an injected fault). */
    state: z.enum(["running", "stopped", "failed"]),
    /** The version of the process, which is the installed one as of its last start. */
    version: Version,
    /** The minor its configuration was written for, by `kubeadm upgrade`. */
    configMinor: z.string(),
  }),
});

/** One machine: what `apt-get`, `kubeadm` and `systemctl` have done to it. */
export type Machine = z.output<typeof MachineSchema>;

function fileOf(layout: Layout, node: string): string {
  return resolve(layout.machines, `${node}.json`);
}

/** The machines of a new lab: every package in the version that the node's kubelet reports, held, as kubeadm's own guide has it. */
export async function initialMachines(
  layout: Layout,
  nodes: readonly LabNode[],
  serverVersion: string,
): Promise<void> {
  for (const node of nodes) {
    const version = node.kubeletVersion ?? serverVersion;
    await writeMachine(layout, {
      node: node.name,
      controlPlane: node.controlPlane,
      packages: { kubeadm: version, kubelet: version, kubectl: version },
      held: [...PACKAGES],
      kubelet: { state: "running", version, configMinor: minorOf(version) },
    });
  }
}

/** @throws LabError when the lab has no such machine. */
export async function readMachine(layout: Layout, node: string): Promise<Machine> {
  const text = /^[a-z0-9][a-z0-9.-]*$/u.test(node) ? await readIfThere(fileOf(layout, node)) : undefined;
  if (text === undefined) {
    throw new LabError(
      `the lab in ${layout.dir} has no machine ${JSON.stringify(node)}; its machines are the files of ${layout.machines}`,
    );
  }
  try {
    return MachineSchema.parse(JSON.parse(text));
  } catch (error) {
    throw new LabError(`${fileOf(layout, node)} is not a machine's state: ${messageOf(error)}`);
  }
}

export async function writeMachine(layout: Layout, machine: Machine): Promise<void> {
  await writeAtomic(
    fileOf(layout, machine.node),
    `${JSON.stringify(MachineSchema.parse(machine), undefined, 2)}\n`,
    0o644,
  );
}
