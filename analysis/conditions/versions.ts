/** Conditions on versions. */
import { z } from "zod";
import type { Finding } from "../finding.ts";
import { checkComponents } from "../skew.ts";
import { checkUpgradePath } from "../upgrade-path.ts";
import { atLeast, compareVersions } from "../versions.ts";
import { condition } from "./world.ts";

/** The target is one step away, and no kubelet would fall out of its window. */
export const upgradePath = condition(z.strictObject({ target: z.string() }), ({ inventory }, { target }) =>
  checkUpgradePath({
    current: inventory.cluster.serverVersion,
    target,
    kubelets: inventory.nodes.map((node) => ({ name: node.name, version: node.kubeletVersion })),
  }),
);

/** The API server that answers is at this version. */
export const serverVersion = condition(
  z.strictObject({ version: z.string() }),
  ({ inventory }, { version }): Finding[] => {
    const found = inventory.cluster.serverVersion;
    if (compareVersions(found, version) === 0) return [];
    return [
      {
        code: "SERVER-VERSION",
        severity: "hold",
        subject: "API server",
        message: `is at ${found}`,
        rule: `the control plane is at ${version} before any kubelet is`,
        repair: "finish the control-plane stage first",
      },
    ];
  },
);

/** Every kubelet is in the window of the API server that answers. */
export const skewSupported = condition(z.strictObject({}), ({ inventory }) =>
  checkComponents({
    apiservers: [{ name: "API server", version: inventory.cluster.serverVersion }],
    kubelets: inventory.nodes.map((node) => ({ name: node.name, version: node.kubeletVersion })),
  }),
);

/**
 * The nodes are those that the plan was made for. A new node at the target version or newer needs no upgrade and only
 * gets a word; an older one would be left behind.
 */
export const nodesAsReviewed = condition(
  z.strictObject({ nodes: z.record(z.string(), z.string()), target: z.string() }),
  ({ inventory }, { nodes, target }): Finding[] => {
    const live = new Map(inventory.nodes.map((node) => [node.name, node]));
    const changed = Object.entries(nodes).flatMap(([name, uid]): Finding[] => {
      const node = live.get(name);
      if (node?.uid === uid) return [];
      return [
        {
          code: "BOUND-NODE",
          severity: "refuse",
          subject: `Node ${name}`,
          message:
            node === undefined
              ? "is gone since the inventory"
              : "is another node than the inventory saw (its UID differs)",
          rule: "a plan is bound to the UIDs of its nodes: a name alone may be reused",
          repair:
            "bring the node back, or go back to the stage 'inventory' while that is possible, and review the plan again",
        },
      ];
    });
    const joined = inventory.nodes
      .filter((node) => !Object.hasOwn(nodes, node.name))
      .map((node): Finding => {
        const behind = !atLeast(node.kubeletVersion, target);
        return {
          code: "NODE-JOINED",
          severity: behind ? "hold" : "warn",
          subject: `Node ${node.name}`,
          message: `joined after the inventory, with kubelet ${node.kubeletVersion}`,
          rule: "every node of the cluster is in the rollout, or needs no upgrade",
          repair: behind
            ? "go back to the stage 'inventory' while that is possible; else remove the node, or replace it by one at the target version"
            : "nothing",
        };
      });
    return [...changed, ...joined];
  },
);
