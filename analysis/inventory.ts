/**
 * The one picture of a live cluster that every analysis works on. It is filled by `cluster/` from the API server,
 * or from the output of `kubectl get -o json`, so that program, policies and commands judge the same facts.
 */

export interface Inventory {
  readonly cluster: ClusterFacts;
  /** Undefined: not read. */
  readonly namespaces?: readonly NamespaceFacts[];
  readonly nodes: readonly NodeFacts[];
  readonly pods: readonly PodFacts[];
  readonly budgets: readonly BudgetFacts[];
  readonly workloads: readonly WorkloadFacts[];
}

export interface ClusterFacts {
  /** UID of the namespace `kube-system`: the usual identity of a cluster. */
  readonly uid: string;
  /** `gitVersion` of the API server that answered, e.g. `v1.34.4`. */
  readonly serverVersion: string;
}

export interface NamespaceFacts {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: string;
}

export interface Toleration {
  /** Empty: any key. */
  readonly key: string;
  readonly operator: "Exists" | "Equal";
  readonly value: string;
  /** Empty: any effect. */
  readonly effect: string;
}

export interface NodeFacts {
  readonly name: string;
  readonly uid: string;
  readonly kubeletVersion: string;
  readonly ready: boolean;
  readonly unschedulable: boolean;
  /** Carries the label `node-role.kubernetes.io/control-plane`. */
  readonly controlPlane: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

export interface Owner {
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

export interface PodFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Null while not scheduled. */
  readonly nodeName: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly phase: "Pending" | "Running" | "Succeeded" | "Failed" | "Unknown";
  readonly ready: boolean;
  /** Has a deletion timestamp. */
  readonly terminating: boolean;
  /** The owner reference with `controller: true`. */
  readonly controller: Owner | null;
  /** Carries the annotation `kubernetes.io/config.mirror`. */
  readonly mirror: boolean;
  /** Names of its emptyDir volumes. */
  readonly emptyDirs: readonly string[];
  /** Of its containers, e.g. `registry.k8s.io/kube-apiserver:v1.35.4`. Undefined: not read. */
  readonly images?: readonly string[];
  readonly gracePeriodSeconds: number;
  readonly tolerations: readonly Toleration[];
}

export interface LabelSelector {
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly matchExpressions: readonly SelectorRequirement[];
}

export interface SelectorRequirement {
  readonly key: string;
  readonly operator: "In" | "NotIn" | "Exists" | "DoesNotExist";
  readonly values: readonly string[];
}

export interface BudgetFacts {
  readonly namespace: string;
  readonly name: string;
  /** Null selects nothing; an empty selector selects every pod of the namespace (policy/v1). */
  readonly selector: LabelSelector | null;
  /** A number, or a percentage such as `"50%"`; null when not given. */
  readonly minAvailable: number | string | null;
  readonly maxUnavailable: number | string | null;
  readonly unhealthyPodEvictionPolicy: "IfHealthyBudget" | "AlwaysAllow" | null;
  /** Null while the disruption controller has not looked at this generation yet. */
  readonly status: BudgetStatus | null;
}

export interface BudgetStatus {
  readonly expectedPods: number;
  readonly currentHealthy: number;
  readonly desiredHealthy: number;
  readonly disruptionsAllowed: number;
}

/** What owns pods for good: Deployment, StatefulSet, bare ReplicaSet or ReplicationController, DaemonSet, Job. */
export interface WorkloadFacts {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Desired pods; null where the kind has no such number (DaemonSet, Job). */
  readonly replicas: number | null;
  readonly readyReplicas: number;
  readonly podLabels: Readonly<Record<string, string>>;
  /** For a ReplicaSet: the Deployment above it. */
  readonly controller: Owner | null;
}
