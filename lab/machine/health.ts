import { list, text } from "../cluster/api.ts";
import { probe } from "../cluster/health.ts";
import { isAlive } from "../cluster/identity.ts";
import { isReady, readKubeadmConfig } from "../cluster/objects.ts";
import { processOf } from "../cluster/process.ts";
import type { Session } from "./session.ts";
import { CONTROL_PLANE } from "./swap.ts";

/** A refusal or failure of kubeadm, in its words. */
export class KubeadmError extends Error {}

export const READING_CONFIG = [
  'Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...',
  "Use 'kubeadm init phase upload-config kubeadm --config your-config-file' to re-upload it.",
] as const;

/** The cluster as kubeadm sees it. */
export interface Cluster {
  /** The API server's version. */
  readonly version: string;
  /** The version in kubeadm-config: what nodes are brought to. */
  readonly configured: string;
  /** Kubelet versions by node. */
  readonly kubelets: ReadonlyMap<string, string>;
  readonly controlPlanes: readonly string[];
  readonly notReadyControlPlanes: readonly string[];
}

/**
 * The cluster, when it may be upgraded: every process of the control plane alive and healthy, every control-plane
 * node Ready. An upgrade that was interrupted is let through for exactly its own target, see apply.ts.
 */
export async function healthyCluster(session: Session): Promise<Cluster> {
  const state = await session.lab();
  const problems: string[] = [];
  for (const name of ["etcd", ...CONTROL_PLANE] as const) {
    const id = await processOf(session.layout, name);
    if (!id || !(await isAlive(id))) {
      problems.push(`[ERROR ControlPlaneHealth]: ${name} is not running`);
      continue;
    }
    const { healthy, answer } = await probe(name, session.layout, state, 5000);
    if (!healthy) problems.push(`[ERROR ControlPlaneHealth]: ${name} is not healthy: ${answer}`);
  }
  const cluster = problems.length === 0 ? await readCluster(session) : undefined;
  if (cluster && cluster.notReadyControlPlanes.length > 0) {
    problems.push(
      `[ERROR ControlPlaneNodesReady]: there are NotReady control-planes in the cluster: [${cluster.notReadyControlPlanes.join(" ")}]`,
    );
  }
  if (!cluster || problems.length > 0) {
    throw new KubeadmError(
      `[upgrade/health] FATAL: [preflight] Some fatal errors occurred:\n\t${problems.join("\n\t")}\n[preflight] If you know what you are doing, you can make a check non-fatal with \`--ignore-preflight-errors=...\``,
    );
  }
  return cluster;
}

async function readCluster(session: Session): Promise<Cluster> {
  return session.withApi(async (api) => {
    const [version, nodes, configured] = await Promise.all([
      api.get("/version"),
      api.get("/api/v1/nodes"),
      readKubeadmConfig(api),
    ]);
    const server = text(version, "gitVersion") ?? "";
    const items = list(nodes, "items");
    const nameOf = (node: (typeof items)[number]): string => text(node, "metadata", "name") ?? "";
    const controlPlanes = items.filter(
      (node) => text(node, "metadata", "labels", "node-role.kubernetes.io/control-plane") !== undefined,
    );
    return {
      version: server,
      configured: configured ?? server,
      kubelets: new Map(
        items.map((node) => [nameOf(node), text(node, "status", "nodeInfo", "kubeletVersion") ?? ""]),
      ),
      controlPlanes: controlPlanes.map(nameOf),
      notReadyControlPlanes: controlPlanes.filter((node) => !isReady(node)).map(nameOf),
    };
  });
}
