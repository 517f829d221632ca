/** Settings of the plan `upgrade`. */
import { z } from "zod";
import { LONGEST_AGE_MINUTES } from "../analysis/snapshot.ts";
import {
  Argv,
  DnsLabel,
  EtcdEndpoint,
  FilePath,
  KubeadmVersion,
  NodeName,
  PodRef,
  ruled,
  Seconds,
} from "./scalars.ts";

const count = (rule: string) =>
  ruled(z.number().int().min(1).max(100_000), rule, "give a whole number, 1 or more");

/** The rehearsed drain of one node (U2 to U5): what stands on it, and how much of it must keep serving. */
const Drill = z
  .strictObject({
    node: NodeName,
    namespace: DnsLabel.default("ops-upgrade"),
    name: DnsLabel.default("web"),
    image: ruled(
      z.string().min(1),
      "a container image reference",
      "give an image that the cluster can pull, by digest where you can",
    ).default("registry.k8s.io/pause:3.10"),
    replicas: count("a whole number of replicas").default(3),
    minAvailable: count("a whole number of pods that must stay available").default(2),
  })
  .refine((drill) => drill.minAvailable < drill.replicas, {
    path: ["minAvailable"],
    error:
      "minAvailable must be below replicas: otherwise the budget allows no eviction, and a drain never ends",
    params: { repair: "lower minAvailable, or raise replicas" },
  });

const Drain = z.strictObject({
  /** Pods that may be lost for good (no controller) or lose their emptyDir data, one by one. */
  acknowledge: ruled(
    z.array(PodRef),
    "a list of pods, each as namespace/name",
    'write it as ["shop/debug-shell"]: one pod at a time, there is no global force',
  ).default([]),
  timeoutSeconds: Seconds.default(1800),
  /** Nodes drained side by side. */
  maxNodesAtOnce: count("a whole number of nodes").default(1),
  /** What the forecast expects: from a substitute's creation until it is Ready, and from an eviction until the pod is gone. */
  readySeconds: Seconds.default(10),
  terminationSeconds: Seconds.default(5),
});

/** Which node is upgraded when; default: the first control-plane node, a quarter of the others, the rest. */
const Rollout = z.strictObject({
  canary: NodeName.optional(),
  /** Nodes of batch1, batch2, …, by name. */
  batches: ruled(
    z.array(
      ruled(
        z.array(NodeName).min(1),
        "at least one node in each batch",
        "name its nodes, or leave the batch out",
      ),
    ),
    "a list of batches, each a list of nodes",
    'write them as [["node-1", "node-2"], ["node-3"]]',
  ).optional(),
  /** Or their number only. */
  batchSizes: ruled(
    z.array(count("a whole number of nodes")),
    "a list of the batches' numbers of nodes",
    "write them as [5, 20]; a last batch takes what is left over",
  ).optional(),
});

const Etcd = z.strictObject({
  endpoints: ruled(
    z.array(EtcdEndpoint).min(1),
    "the client URL of every etcd member, at least one",
    'write them as ["https://HOST:2379"]; see `etcdctl member list`',
  ),
  cacert: FilePath.optional(),
  cert: FilePath.optional(),
  key: FilePath.optional(),
  /** A snapshot older than this is not fresh: nothing irreversible goes on with it. */
  maxSnapshotAgeMinutes: ruled(
    z.number().positive().max(LONGEST_AGE_MINUTES),
    `minutes, above 0 and at most ${LONGEST_AGE_MINUTES}: above it nobody knows what the way back would lose`,
    "give a number of minutes",
  ).default(30),
});

const commands = () =>
  ruled(
    z.array(Argv),
    "a list of commands, each a list of arguments",
    'write them as [["apt-get", "update"], ["apt-get", "install", "-y", "kubeadm={package}-*"]]',
  );

/** How a command reaches a node, and how packages are installed there. `{node}`, `{version}`, `{package}` are filled in. */
const Machine = z.strictObject({
  /** Without the node's name every command would reach one and the same machine. */
  exec: ruled(
    Argv.refine((argv) => argv.some((part) => part.includes("{node}")), {
      error: "{node} stands where the machine is named: without it every command reaches the same one",
    }),
    "a list of arguments, run as they are, by no shell, with {node} where the machine is named",
    'write it as ["ssh", "{node}", "sudo"]',
  ),
  installKubeadm: commands().default([
    ["apt-mark", "unhold", "kubeadm"],
    ["apt-get", "install", "-y", "kubeadm={package}-*"],
    ["apt-mark", "hold", "kubeadm"],
  ]),
  installKubelet: commands().default([
    ["apt-mark", "unhold", "kubelet", "kubectl"],
    ["apt-get", "install", "-y", "kubelet={package}-*", "kubectl={package}-*"],
    ["apt-mark", "hold", "kubelet", "kubectl"],
    ["systemctl", "daemon-reload"],
    ["systemctl", "restart", "kubelet"],
  ]),
  /** Limit for one command on one machine. */
  timeoutSeconds: Seconds.default(900),
});

/** How a check is believed: true so many times in a row. */
const Verify = z
  .strictObject({
    /** How long a gate waits for what time alone may mend, before it says what is missing. */
    gateTimeoutSeconds: Seconds.default(30),
    successes: count("a whole number of successes in a row").default(3),
    intervalSeconds: Seconds.default(2),
    timeoutSeconds: Seconds.default(600),
  })
  .refine((verify) => verify.intervalSeconds * (verify.successes - 1) < verify.timeoutSeconds, {
    path: ["timeoutSeconds"],
    error: "so many successes, so far apart, have to fit into the time limit",
    params: { repair: "raise timeoutSeconds, or lower successes or intervalSeconds" },
  });

export const UpgradeConfig = z.strictObject({
  target: KubeadmVersion,
  /** The order in which control-plane nodes are upgraded; default: those that carry the role label, by name. */
  controlPlane: ruled(
    z.array(NodeName).min(1),
    "a list of the control plane's nodes, in the order of their upgrade, at least one",
    'write it as ["node-0", "node-1"], or leave it out',
  ).optional(),
  drill: Drill,
  drain: Drain.prefault({}),
  rollout: Rollout.prefault({}),
  etcd: Etcd,
  machine: Machine,
  /** The document whose `answers` become skew.yaml; default: one made for the live API server's minor. */
  skewTemplate: FilePath.optional(),
  verify: Verify.prefault({}),
});

export type UpgradeConfig = z.output<typeof UpgradeConfig>;
