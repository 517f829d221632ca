/** What was reviewed is what is changed: cluster and node identities are read again before a command does anything. */
import type { V1Node } from "@kubernetes/client-node";
import type { Finding } from "../analysis/finding.ts";
import type { Api } from "../cluster/api.ts";
import type { CommandDocument } from "./document.ts";

export async function identityFindings(api: Api, bound: CommandDocument["bound"]): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (bound.clusterUid !== null) {
    const system = await api.get<{ metadata?: { uid?: string } }>("/api/v1/namespaces/kube-system");
    const uid = system.metadata?.uid ?? "";
    if (uid !== bound.clusterUid) {
      findings.push({
        code: "BOUND-CLUSTER",
        severity: "refuse",
        subject: `cluster at ${api.server}`,
        message: `its identity is ${uid}, reviewed was ${bound.clusterUid}`,
        rule: "a plan is bound to the UID of the cluster's namespace kube-system",
        repair: "point cluster.kubeconfig and cluster.context to the cluster of this stack",
      });
    }
  }
  const nodes = await Promise.all(
    Object.entries(bound.nodes).map(async ([name, uid]) => ({
      name,
      uid,
      live: await api.find<V1Node>(`/api/v1/nodes/${name}`),
    })),
  );
  for (const { name, uid, live } of nodes) {
    if (live?.metadata?.uid === uid) continue;
    findings.push({
      code: "BOUND-NODE",
      severity: "refuse",
      subject: `Node ${name}`,
      message:
        live === null
          ? "is gone since the review"
          : `is another node than reviewed (UID ${live.metadata?.uid ?? "none"}, reviewed ${uid})`,
      rule: "a plan is bound to the UIDs of the nodes it touches: a name alone may be reused",
      repair: "review the plan again: the inventory no longer fits this cluster",
    });
  }
  return findings;
}
