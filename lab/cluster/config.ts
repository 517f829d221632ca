import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import { z } from "zod";
import { LabError, messageOf, type Problem } from "./errors.ts";
import { problemsOf } from "./problems.ts";

/** The Kubernetes minors whose control plane the toolchain can run. */
export const MINORS = ["1.34", "1.35"] as const;
export type Minor = (typeof MINORS)[number];

const RULE = {
  dnsLabel:
    "lower case letters, digits and '-', starting and ending with a letter or digit, at most 40 characters",
  nodeName: "a DNS subdomain (RFC 1123): lower case letters, digits, '-' and '.', at most 253 characters",
  nodePrefix:
    "lower case letters, digits and '-', starting with a letter or digit; the node's number follows it",
  labelKey: "a label key: [prefix/]name, the name at most 63 letters, digits, '-', '_' or '.'",
  labelValue:
    "a label value: at most 63 letters, digits, '-', '_' or '.', starting and ending with a letter or digit",
  quantity: 'a Kubernetes quantity in quotes, such as "4", "500m", "8Gi"',
  version: 'a version as a kubelet reports it, such as "v1.34.4" or "v1.33.5-eks-1a2b3c4"',
  address: "an IPv4 address outside 127.0.0.0/8 (Kubernetes refuses loopback addresses in endpoints)",
  range: "[least, most] in seconds, 0 to 3600, least not above most",
} as const;

const labelName = /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/u;
const labelText = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/u;

const LabName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/u, RULE.dnsLabel);
const NodeName = z
  .string()
  .max(253, RULE.nodeName)
  .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u, RULE.nodeName);
const NodePrefix = z.string().regex(/^[a-z0-9][-a-z0-9]{0,200}$/u, RULE.nodePrefix);
const LabelKey = z.string().regex(labelName, RULE.labelKey);
const LabelValue = z.string().regex(labelText, RULE.labelValue);
const Quantity = z.string().regex(/^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/u, RULE.quantity);
const KubeletVersion = z.string().regex(/^v1\.[0-9]{1,3}\.[0-9]{1,3}([-+][0-9A-Za-z.+-]+)?$/u, RULE.version);
const Address = z.ipv4({ error: RULE.address }).refine((value) => !value.startsWith("127."), RULE.address);

/** `[least, most]` seconds; each use draws a time between the two. */
const Seconds = z.number().min(0, RULE.range).max(3600, RULE.range);
const Range = z
  .tuple([Seconds, Seconds], { error: RULE.range })
  .refine(([least, most]) => least <= most, RULE.range);

const Taint = z.strictObject({
  key: LabelKey,
  value: LabelValue.default(""),
  effect: z.enum(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
});

const Shape = {
  labels: z.record(LabelKey, LabelValue).default({}),
  taints: z.array(Taint).default([]),
  cpu: Quantity.default("4"),
  memory: Quantity.default("8Gi"),
  pods: z.int().min(1).max(1000).default(110),
  /** What the Node reports; without it the API server's own version. */
  kubeletVersion: KubeletVersion.optional(),
};

const Node = z.strictObject({
  name: NodeName,
  zone: LabelValue.default("a"),
  controlPlane: z.boolean().default(false),
  /** The Node's InternalIP; without it one of 172.30.0.0/16. */
  address: Address.optional(),
  ...Shape,
});

const NodeSet = z.strictObject({
  count: z.int().min(1).max(1000),
  prefix: NodePrefix.default("lab-node-"),
  zones: z.array(LabelValue).min(1).default(["a", "b", "c"]),
  ...Shape,
});

export const LabConfigSchema = z.strictObject({
  name: LabName.default("lab"),
  kubernetes: z.enum(MINORS).default("1.34"),
  nodes: z.union([z.array(Node).min(1).max(1000), NodeSet]).default({
    count: 3,
    prefix: "lab-node-",
    zones: ["a", "b", "c"],
    labels: {},
    taints: [],
    cpu: "4",
    memory: "8Gi",
    pods: 110,
  }),
  /** From a pod's binding to its Ready condition. */
  podReadySeconds: Range.default([1, 2]),
  /** From a pod's deletion until it is gone, never longer than its grace period. */
  podTerminationSeconds: Range.default([0.5, 1]),
  /** From `systemctl restart kubelet` until the Node reports the version installed. */
  kubeletStartSeconds: Range.default([1, 2]),
  /**
   * How long a Node may be silent before it is NotReady; a real control plane waits 50 s. Longer than the API is
   * away during `kubeadm upgrade apply`, or every Node is NotReady for a moment after it.
   */
  nodeMonitorGraceSeconds: z.int().min(8).max(600).default(24),
  /** Write `logs/audit.log`: every write to the API, who and when. */
  audit: z.boolean().default(true),
});

/** What may be written in a lab's configuration file; every key has a default. */
export type LabConfigInput = z.input<typeof LabConfigSchema>;
export type LabConfig = z.output<typeof LabConfigSchema>;

/** A node with everything decided but its kubelet's version, which follows the API server's when not given. */
export interface LabNode {
  readonly name: string;
  readonly zone: string;
  readonly address: string;
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly z.output<typeof Taint>[];
  readonly cpu: string;
  readonly memory: string;
  readonly pods: number;
  readonly kubeletVersion?: string | undefined;
}

/**
 * Checks a configuration and gives it its defaults.
 * @throws LabError with every problem at once: path, value, rule, repair.
 */
export function parseLabConfig(input: unknown, source = "the lab's configuration"): LabConfig {
  const result = LabConfigSchema.safeParse(input ?? {});
  const problems = result.success
    ? acrossNodes(result.data)
    : problemsOf(result.error, input, LabConfigSchema);
  if (!result.success || problems.length > 0) {
    throw new LabError(
      `${source} has ${problems.length} problem${problems.length === 1 ? "" : "s"}:`,
      problems,
    );
  }
  return result.data;
}

/** Reads a configuration file, JSON or YAML (JSON is YAML). */
export async function readLabConfig(path: string): Promise<LabConfig> {
  let input: unknown;
  try {
    input = parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new LabError(`cannot read the lab's configuration ${path}: ${messageOf(error)}`);
  }
  return parseLabConfig(input, path);
}

/** Rules no single field can tell. */
function acrossNodes(config: LabConfig): Problem[] {
  const problems: Problem[] = [];
  if (!Array.isArray(config.nodes)) return problems;
  const nodes = config.nodes;
  for (const field of ["name", "address"] as const) {
    nodes.forEach((node, index) => {
      const value = node[field];
      const first = nodes.findIndex((other) => other[field] === value);
      if (value !== undefined && first !== index) {
        problems.push({
          path: `nodes[${index}].${field}`,
          value: JSON.stringify(value),
          rule: `every node has its own ${field}; nodes[${first}] has this one already`,
          repair: `give one of the two another ${field}`,
        });
      }
    });
  }
  if (!nodes.some((node) => node.controlPlane)) {
    problems.push({
      path: "nodes",
      value: nodes.map((node) => node.name).join(", "),
      rule: "at least one node is the control plane, or `kubeadm upgrade apply` has no place to run",
      repair: "write controlPlane: true on one of them",
    });
  }
  return problems;
}

/** The configuration's nodes, one by one, in order. A node set's first node is its control plane. */
export function nodesOf(config: LabConfig): LabNode[] {
  const set = config.nodes;
  const nodes = Array.isArray(set)
    ? set
    : Array.from({ length: set.count }, (_, index) => ({
        ...set,
        name: `${set.prefix}${index}`,
        zone: set.zones[index % set.zones.length] ?? "a",
        controlPlane: index === 0,
        address: undefined,
      }));
  const given = new Set(nodes.map((node) => node.address));
  let next = 0;
  const free = (): string => {
    for (;;) {
      next++;
      const address = `172.30.${next >> 8}.${next & 255}`;
      if (!given.has(address)) return address;
    }
  };
  return nodes.map((node) => ({
    name: node.name,
    zone: node.zone,
    address: node.address ?? free(),
    controlPlane: node.controlPlane,
    labels: node.labels,
    taints: node.taints,
    cpu: node.cpu,
    memory: node.memory,
    pods: node.pods,
    kubeletVersion: node.kubeletVersion,
  }));
}
