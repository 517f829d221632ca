/** Conditions on versions. */
import { z } from "zod";
import type { Finding } from "../finding.ts";
import type { Inventory } from "../inventory.ts";
import { checkComponents } from "../skew.ts";
import { checkUpgradePath } from "../upgrade-path.ts";
import { atLeast, compareVersions } from "../versions.ts";
import { condition, NOT_DECIDED } from "./world.ts";

/** The target is one step away, and no kubelet would fall out of its window. */
export const upgradePath = condition(z.strictObject({ target: z.string() }), ({ inventory }, { target }) =>
  checkUpgradePath({
    current: serversOf(inventory).map(({ version }) => version),
    target,
    kubelets: inventory.nodes.map((node) => ({ name: node.name, version: node.kubeletVersion })),
  }),
);

/**
 * The API servers on these machines are at this version. Which one answers through a load balancer is chance, so each
 * is told by its static pod, as kubeadm names it (kube-apiserver-NODE); a control plane without such pods is asked
 * itself, if it is a single one.
 */
export const controlPlaneVersion = condition(
  z.strictObject({ nodes: z.array(z.string()).min(1), version: z.string() }),
  ({ inventory }, { nodes, version }) => {
    const servers = apiservers(inventory);
    if (servers.length === 0 && nodes.length > 1) return NOT_DECIDED;
    const asked =
      servers.length === 0
        ? [{ name: "API server", version: inventory.cluster.serverVersion }]
        : nodes.map(
            (node) =>
              servers.find((server) => server.node === node) ?? {
                name: `API server on ${node}`,
                version: null,
              },
          );
    return asked
      .filter((server) => server.version === null || compareVersions(server.version, version) !== 0)
      .map((server): Finding => ({
        code: "SERVER-VERSION",
        severity: "hold",
        subject: server.name,
        message: server.version === null ? "is not there, or not Ready" : `is at ${server.version}`,
        rule: `the control plane is at ${version} before any kubelet is`,
        repair:
          "finish the stages of the control plane first; look at the machine's static pods: crictl ps -a",
      }));
  },
);

interface ApiServer {
  readonly name: string;
  readonly node: string;
  /** Null: not Ready. */
  readonly version: string | null;
}

/** By their static pods; empty where the control plane runs in another way. */
function apiservers({ pods }: Inventory): ApiServer[] {
  return pods
    .filter(
      (pod) =>
        pod.namespace === "kube-system" && pod.mirror && pod.name === `kube-apiserver-${pod.nodeName ?? ""}`,
    )
    .map((pod) => ({
      name: `API server on ${pod.nodeName ?? ""}`,
      node: pod.nodeName ?? "",
      version: pod.ready ? versionOfImage(pod.images ?? []) : null,
    }));
}

/** `registry.k8s.io/kube-apiserver:v1.35.4` (a digest may follow) is v1.35.4. */
function versionOfImage(images: readonly string[]): string | null {
  const tags = images.flatMap((image) => /kube-apiserver:(v[^@]+)/.exec(image)?.[1] ?? []);
  return tags[0] ?? null;
}

/** All API servers that can be told apart, else the one that answers. */
function serversOf(inventory: Inventory): { name: string; version: string }[] {
  const told = apiservers(inventory).flatMap(({ name, version }) =>
    version === null ? [] : [{ name, version }],
  );
  return told.length > 0 ? told : [{ name: "API server", version: inventory.cluster.serverVersion }];
}

/** Every kubelet is in the window of the API servers. */
export const skewSupported = condition(z.strictObject({}), ({ inventory }) =>
  checkComponents({
    apiservers: serversOf(inventory),
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
