import { text, type Api, type Json } from "./api.ts";
import { nodesOf, type LabConfig, type LabNode } from "./config.ts";
import { KUBELET_LABEL, KUBELET_VERSION_ANNOTATION } from "./stages.ts";

/** What the simulated kubelets may do, and no more: the part of `system:node` and of kwok's own role that is used. */
const KWOK_RULES = [
  { apiGroups: [""], resources: ["nodes", "pods"], verbs: ["get", "list", "watch"] },
  { apiGroups: [""], resources: ["nodes/status", "pods/status"], verbs: ["get", "patch", "update"] },
  { apiGroups: [""], resources: ["pods"], verbs: ["delete", "patch", "update"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    verbs: ["create", "get", "list", "watch", "patch", "update"],
  },
  { apiGroups: ["", "events.k8s.io"], resources: ["events"], verbs: ["create", "patch", "update"] },
];

/** Lets kwok in. Must be there before kwok is started. */
export async function allowKwok(api: Api): Promise<void> {
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  await api.apply(`${rbac}/clusterroles/lab:kwok`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "lab:kwok" },
    rules: KWOK_RULES,
  });
  await api.apply(`${rbac}/clusterrolebindings/lab:kwok`, {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "lab:kwok" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "lab:kwok" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: "lab:kwok" }],
  });
}

/** Makes the configuration's Nodes; a Node that is there already stays as it is. */
export async function createNodes(api: Api, config: LabConfig, serverVersion: string): Promise<void> {
  const missing = nodesOf(config);
  // Side by side, as the API takes them: 200 nodes one after the other would be most of the start.
  const workers = Array.from({ length: 16 }, async () => {
    for (let node = missing.shift(); node; node = missing.shift()) await createNode(api, node, serverVersion);
  });
  await Promise.all(workers);
}

async function createNode(api: Api, node: LabNode, serverVersion: string): Promise<void> {
  const kubeletVersion = node.kubeletVersion ?? serverVersion;
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const resources = {
    cpu: node.cpu,
    memory: node.memory,
    pods: String(node.pods),
    "ephemeral-storage": "100Gi",
  };
  await api.post("/api/v1/nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name: node.name,
      labels: {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": architecture,
        "topology.kubernetes.io/region": "lab",
        "topology.kubernetes.io/zone": node.zone,
        ...(node.controlPlane ? { "node-role.kubernetes.io/control-plane": "" } : {}),
        ...node.labels,
        [KUBELET_LABEL]: "running",
      },
      annotations: { [KUBELET_VERSION_ANNOTATION]: kubeletVersion },
    },
    spec: { taints: node.taints.map((taint) => ({ ...taint })) },
    status: {
      addresses: [
        { type: "InternalIP", address: node.address },
        { type: "Hostname", address: node.name },
      ],
      capacity: resources,
      allocatable: resources,
      nodeInfo: {
        architecture,
        operatingSystem: "linux",
        osImage: "Lab Linux (simulated by kwok)",
        kernelVersion: "0.0.0-lab",
        containerRuntimeVersion: "kwok://simulated",
        kubeletVersion,
        kubeProxyVersion: "",
        machineID: node.name,
        systemUUID: node.name,
        bootID: node.name,
      },
    },
  });
}

const KUBEADM_CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config";

/** The ConfigMap in which kubeadm keeps the cluster's version, in its own format (kubeadm.k8s.io/v1beta4). */
export async function writeKubeadmConfig(api: Api, name: string, version: string): Promise<void> {
  await api.apply(KUBEADM_CONFIG, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "kubeadm-config", namespace: "kube-system" },
    data: {
      ClusterConfiguration: [
        "apiVersion: kubeadm.k8s.io/v1beta4",
        `clusterName: ${name}`,
        "kind: ClusterConfiguration",
        `kubernetesVersion: ${version}`,
        "",
      ].join("\n"),
    },
  });
}

/** The version of kubeadm-config, which is what `kubeadm upgrade node` brings a node to. */
export async function readKubeadmConfig(api: Api): Promise<string | undefined> {
  const config = text(await api.get(KUBEADM_CONFIG), "data", "ClusterConfiguration");
  return /^kubernetesVersion: (\S+)$/mu.exec(config ?? "")?.[1];
}

export function isReady(node: Json): boolean {
  return readyStatus(node) === "True";
}

/** The status of a Node's Ready condition: True, False or Unknown. */
export function readyStatus(node: Json): string {
  const conditions = (node as { status?: { conditions?: { type: string; status: string }[] } }).status
    ?.conditions;
  return conditions?.find((condition) => condition.type === "Ready")?.status ?? "Unknown";
}
