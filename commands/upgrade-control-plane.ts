/**
 * Upgrades the control plane, one machine at a time, as kubeadm does it: `kubeadm upgrade plan` and `apply` on the first,
 * `kubeadm upgrade node` on the others. Cannot be undone.
 * Source: Kubernetes docs, Upgrading kubeadm clusters.
 */
import { z } from "zod";
import type { Finding } from "../analysis/finding.ts";
import { checkUpgradePath } from "../analysis/upgrade-path.ts";
import { compareVersions } from "../analysis/versions.ts";
import { readInventory } from "../cluster/inventory.ts";
import { defineCommand, Refusal, type Context } from "./context.ts";
import { FreshSnapshot, FreshSpec } from "./fresh.ts";
import { Machine, MachineSpec } from "./machine.ts";
import { holdsSteadily, SteadySpec } from "./steady.ts";

const Spec = z.strictObject({
  target: z.string(),
  /** `apply` on the first machine of the control plane, `node` on the others. */
  step: z.enum(["apply", "node"]),
  nodes: z.array(z.string()).min(1),
  machine: MachineSpec,
  fresh: FreshSpec,
  verify: SteadySpec,
});

export const upgradeControlPlane = defineCommand({
  spec: Spec,
  mutates: true,
  run: async (context, spec) => {
    const fresh = new FreshSnapshot(context, spec.fresh);
    const before = await readInventory(context.api);
    const path = checkUpgradePath({
      current: before.cluster.serverVersion,
      target: spec.target,
      kubelets: before.nodes.map((node) => ({ name: node.name, version: node.kubeletVersion })),
    }).filter((finding) => finding.severity !== "warn");
    if (path.length > 0) throw new Refusal("the control plane was not touched", path);

    const ran: Record<string, unknown> = {};
    for (const node of spec.nodes) {
      await fresh.demand();
      const machine = new Machine(context, spec.machine, node, spec.target);
      if (spec.step === "apply" && compareVersions(before.cluster.serverVersion, spec.target) === 0) {
        context.progress(`the API server is at ${spec.target} already`);
      } else {
        await machine.installKubeadm();
        if (spec.step === "apply") {
          await machine.run(["kubeadm", "upgrade", "plan", "{version}"]);
          await machine.run(["kubeadm", "upgrade", "apply", "-y", "{version}"]);
        } else {
          await machine.run(["kubeadm", "upgrade", "node"]);
        }
      }
      ran[node] = machine.ran;
      await demandServer(context, spec);
    }
    return {
      summary: `control plane at ${spec.target}: ${spec.nodes.join(", ")}`,
      seen: { from: before.cluster.serverVersion, ran },
    };
  },
});

async function demandServer(context: Context, spec: z.output<typeof Spec>): Promise<void> {
  const { findings } = await holdsSteadily(context, spec.verify, async () => {
    await context.api.request("/readyz");
    const version = await context.api.get<{ gitVersion?: string }>("/version");
    return serverFindings(version.gitVersion ?? "", spec.target);
  });
  if (findings.length > 0) throw new Refusal("the control plane is not at its target", findings);
}

function serverFindings(found: string, target: string): Finding[] {
  if (compareVersions(found, target) === 0) return [];
  return [
    {
      code: "SERVER-VERSION",
      severity: "hold",
      subject: "API server",
      message: `is at ${found}`,
      rule: `ready and at ${target}, several times in a row`,
      repair: "look at the static pods of this control-plane machine: crictl ps -a | grep kube-apiserver",
    },
  ];
}
