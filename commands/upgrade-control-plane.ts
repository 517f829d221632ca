/**
 * Upgrades the control plane, one machine at a time, as kubeadm does it: `kubeadm upgrade plan` and `apply` on the first,
 * `kubeadm upgrade node` on the others. Cannot be undone.
 * Source: Kubernetes docs, Upgrading kubeadm clusters.
 */
import { z } from "zod";
import { judge } from "../analysis/conditions/index.ts";
import { blocks, type Finding } from "../analysis/finding.ts";
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
    const inventory = await readInventory(context.api);
    const path = judge({ inventory }, { condition: "upgrade-path", with: { target: spec.target } }).filter(
      blocks,
    );
    if (path.length > 0) throw new Refusal("the control plane was not touched", path);

    const ran: Record<string, unknown> = {};
    for (const node of spec.nodes) {
      const machine = new Machine(context, spec.machine, node, spec.target);
      await machine.settle();
      // `kubeadm upgrade node` does nothing where nothing is to do, and only it can tell.
      if (spec.step === "apply" && (await isApplied(context, spec, node))) {
        context.progress(`the API server of ${node} is at ${spec.target} already`);
        continue;
      }
      await fresh.demand();
      await machine.installKubeadm();
      if (spec.step === "apply") {
        await machine.run(["kubeadm", "upgrade", "plan", "{version}"]);
        await machine.run(["kubeadm", "upgrade", "apply", "-y", "{version}"]);
      } else {
        await machine.run(["kubeadm", "upgrade", "node"]);
      }
      ran[node] = machine.ran;
      const { findings } = await holdsSteadily(context, spec.verify, () => standing(context, spec, node));
      if (findings.length > 0)
        throw new Refusal(`the control plane of ${node} is not at its target`, findings, { ran });
    }
    return {
      summary: `control plane at ${spec.target}: ${spec.nodes.join(", ")}`,
      seen: { from: inventory.cluster.serverVersion, ran },
    };
  },
});

/**
 * `kubeadm upgrade apply` writes the new version into its ConfigMap when the static pods are done. One that was cut off
 * before has not: API server at the target or not, it has to run again.
 */
async function isApplied(context: Context, spec: z.output<typeof Spec>, node: string): Promise<boolean> {
  if ((await standing(context, spec, node)).length > 0) return false;
  const config = await context.api.find<{ data?: Record<string, string> }>(
    "/api/v1/namespaces/kube-system/configmaps/kubeadm-config",
  );
  const version = /^kubernetesVersion:\s*"?([^"\s]+)"?\s*$/m.exec(
    config?.data?.["ClusterConfiguration"] ?? "",
  )?.[1];
  return version !== undefined && compareVersions(version, spec.target) === 0;
}

/** What keeps this machine's control plane from counting as upgraded. */
async function standing(
  context: Context,
  spec: z.output<typeof Spec>,
  node: string,
): Promise<readonly Finding[]> {
  await context.api.request("/readyz");
  const inventory = await readInventory(context.api);
  return judge(
    { inventory },
    { condition: "control-plane-version", with: { nodes: [node], version: spec.target } },
  );
}
