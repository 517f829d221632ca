/**
 * Upgrades the kubelets of a rollout stage, one node at a time: kubeadm, drain, kubelet, Ready at the new version,
 * uncordon. The first node that does not come back stops it; the nodes after it are not touched. Cannot be undone.
 * Source: Kubernetes docs, Upgrading Linux nodes.
 */
import { z } from "zod";
import { judge } from "../analysis/conditions/index.ts";
import { uncordon } from "../cluster/actions.ts";
import { readInventory } from "../cluster/inventory.ts";
import { defineCommand, Refusal, type Context } from "./context.ts";
import { drainNodes, DrainSpec } from "./drain/index.ts";
import { FreshSnapshot, FreshSpec } from "./fresh.ts";
import { Machine, MachineSpec } from "./machine.ts";
import { holdsSteadily, SteadySpec } from "./steady.ts";

const Spec = z.strictObject({
  target: z.string(),
  nodes: z.array(z.string()).min(1),
  /** Of these, the ones whose control plane was upgraded before: they get a kubelet only. */
  controlPlane: z.array(z.string()),
  machine: MachineSpec,
  drain: DrainSpec.omit({ nodes: true, maxNodesAtOnce: true }),
  fresh: FreshSpec,
  verify: SteadySpec,
});

export const upgradeNodes = defineCommand({
  spec: Spec,
  mutates: true,
  run: async (context, spec) => {
    const fresh = new FreshSnapshot(context, spec.fresh);
    const seen: Record<string, unknown> = {};
    for (const [index, node] of spec.nodes.entries()) {
      context.progress(`node ${index + 1} of ${spec.nodes.length}: ${node}`);
      await fresh.demand();
      seen[node] = await upgradeNode(context, spec, node);
    }
    return { summary: `kubelets at ${spec.target}: ${spec.nodes.join(", ")}`, seen };
  },
});

async function upgradeNode(context: Context, spec: z.output<typeof Spec>, node: string): Promise<unknown> {
  const machine = new Machine(context, spec.machine, node, spec.target);
  await machine.settle();
  if ((await standing(context, spec, node)).length === 0) {
    context.progress(`${node} is Ready at ${spec.target} already`);
    await uncordon(context.api, node);
    return { already: spec.target };
  }
  await machine.installKubeadm();
  if (!spec.controlPlane.includes(node)) await machine.run(["kubeadm", "upgrade", "node"]);
  const drained = await drainNodes(context, { ...spec.drain, nodes: [node], maxNodesAtOnce: 1 });
  await machine.installKubelet();
  const { findings, looks } = await holdsSteadily(context, spec.verify, () => standing(context, spec, node));
  if (findings.length > 0) {
    throw new Refusal(
      `${node} did not come back at ${spec.target}: it stays cordoned, and no further node is touched`,
      findings,
      {
        drained,
        ran: machine.ran,
      },
    );
  }
  if (await uncordon(context.api, node)) context.progress(`node/${node} uncordoned`);
  return { drained, ran: machine.ran, looks };
}

/** What keeps this node from counting as upgraded. */
async function standing(
  context: Context,
  spec: z.output<typeof Spec>,
  node: string,
): ReturnType<typeof judgeNode> {
  return await judgeNode(context, spec.target, node);
}

async function judgeNode(context: Context, target: string, node: string) {
  const inventory = await readInventory(context.api);
  const one = { ...inventory, nodes: inventory.nodes.filter((live) => live.name === node) };
  return [
    ...judge(
      { inventory: one },
      { condition: "nodes-exist", with: { nodes: [{ name: node, path: `Node ${node}` }] } },
    ),
    ...judge({ inventory: one }, { condition: "nodes-ready", with: {} }),
    ...judge({ inventory: one }, { condition: "kubelet-version", with: { nodes: [node], version: target } }),
  ];
}
