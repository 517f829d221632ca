/** Conditions on nodes. */
import { z } from "zod";
import type { Finding } from "../finding.ts";
import type { NodeFacts } from "../inventory.ts";
import { nearest } from "../suggest.ts";
import { compareVersions } from "../versions.ts";
import { condition, quoteList } from "./world.ts";

const Nodes = z.strictObject({ nodes: z.array(z.string()) });

/** The nodes that the config names are there. */
export const nodesExist = condition(
  z.strictObject({ nodes: z.array(z.strictObject({ name: z.string(), path: z.string() })) }),
  (world, { nodes }) => {
    const names = world.inventory.nodes.map((node) => node.name);
    return nodes
      .filter((node) => !names.includes(node.name))
      .map((node): Finding => {
        const suggestion = nearest(node.name, names);
        return {
          code: "NODE-UNKNOWN",
          severity: "refuse",
          subject: node.path,
          message: `the cluster has no node '${node.name}'`,
          rule: `its nodes: ${names.slice(0, 20).join(", ")}${names.length > 20 ? ` and ${names.length - 20} more` : ""}`,
          repair: suggestion === null ? "name a node of this cluster" : `did you mean '${suggestion}'?`,
        };
      });
  },
);

/** Every node of the cluster reports Ready. */
export const nodesReady = condition(z.strictObject({}), (world) =>
  world.inventory.nodes
    .filter((node) => !node.ready)
    .map((node) =>
      hold(
        "NODE-NOT-READY",
        node,
        "is not Ready",
        "no step starts or counts as done while a node is not Ready",
        `look at its kubelet: kubectl describe node ${node.name}`,
      ),
    ),
);

/** No node is cordoned but the ones allowed to be. */
export const onlyCordoned = condition(
  z.strictObject({ allowed: z.array(z.string()) }),
  (world, { allowed }) =>
    world.inventory.nodes
      .filter((node) => node.unschedulable && !allowed.includes(node.name))
      .map((node) =>
        hold(
          "NODE-CORDONED",
          node,
          "is cordoned",
          allowed.length === 0
            ? "no node may be cordoned here"
            : `only ${quoteList(allowed)} may be cordoned here`,
          `find out who did it and why; then kubectl uncordon ${node.name}`,
        ),
      ),
);

/** These nodes are cordoned. */
export const cordoned = condition(Nodes, (world, { nodes }) =>
  ofEach(world.inventory.nodes, nodes, (node) =>
    node.unschedulable
      ? null
      : hold(
          "NODE-SCHEDULABLE",
          node,
          "is schedulable",
          "it has to be cordoned here",
          `kubectl cordon ${node.name}`,
        ),
  ),
);

/** These nodes report this kubelet version. */
export const kubeletVersion = condition(Nodes.extend({ version: z.string() }), (world, { nodes, version }) =>
  ofEach(world.inventory.nodes, nodes, (node) =>
    compareVersions(node.kubeletVersion, version) === 0
      ? null
      : hold(
          "NODE-VERSION",
          node,
          `reports kubelet ${node.kubeletVersion}`,
          `the rollout goes on when it reports ${version}`,
          `look at the kubelet of ${node.name}; \`pulumi up\` again goes on from here`,
        ),
  ),
);

/** Each node carries its value of this label. */
export const nodesLabelled = condition(
  z.strictObject({ key: z.string(), values: z.record(z.string(), z.string()) }),
  (world, { key, values }) =>
    ofEach(world.inventory.nodes, Object.keys(values), (node) =>
      node.labels[key] === values[node.name]
        ? null
        : hold(
            "NODE-LABEL",
            node,
            `has ${key}=${node.labels[key] ?? "(none)"}`,
            `the plan is written on the nodes: ${key}=${values[node.name] ?? ""}`,
            "pulumi up",
          ),
    ),
);

/** A node that is not there does not hold what is demanded of it: a condition must never hold for want of nodes. */
function ofEach(
  nodes: readonly NodeFacts[],
  names: readonly string[],
  look: (node: NodeFacts) => Finding | null,
): Finding[] {
  return names.flatMap((name) => {
    const node = nodes.find((one) => one.name === name);
    const found =
      node === undefined
        ? hold(
            "NODE-ABSENT",
            { name },
            "is not in the cluster",
            "what is demanded of a node is not given by its absence",
            "bring the node back, or review the plan without it",
          )
        : look(node);
    return found === null ? [] : [found];
  });
}

function hold(
  code: string,
  node: Pick<NodeFacts, "name">,
  message: string,
  rule: string,
  repair: string,
): Finding {
  return { code, severity: "hold", subject: `Node ${node.name}`, message, rule, repair };
}
