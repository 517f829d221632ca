import * as kubernetes from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { OWN_NAMESPACE } from "../analysis/conditions/workloads.ts";

export interface BudgetedWorkloadArgs {
  readonly namespace: string;
  /** Of the Deployment, and the value of its pods' label `app`. */
  readonly name: string;
  readonly image: string;
  readonly replicas: number;
  /** Pods that evictions must leave available. Below `replicas`. */
  readonly minAvailable: number;
}

/** A namespace with one Deployment and the PodDisruptionBudget `NAME-pdb` that keeps it serving through a drain. */
export class BudgetedWorkload extends pulumi.ComponentResource {
  readonly namespace: kubernetes.core.v1.Namespace;
  readonly deployment: kubernetes.apps.v1.Deployment;
  readonly budget: kubernetes.policy.v1.PodDisruptionBudget;

  constructor(name: string, args: BudgetedWorkloadArgs, opts?: pulumi.ComponentResourceOptions) {
    super("cluster-migration:index:BudgetedWorkload", name, {}, opts);
    // The engine records no dependency of a child on what its parent waits for: so each child waits itself.
    const own = { parent: this, dependsOn: opts?.dependsOn ?? [] };
    const labels = { app: args.name };
    this.namespace = new kubernetes.core.v1.Namespace(
      `${name}-namespace`,
      { metadata: { name: args.namespace, annotations: { [OWN_NAMESPACE.key]: OWN_NAMESPACE.value } } },
      own,
    );
    const inNamespace = pulumi.mergeOptions(own, { dependsOn: [this.namespace] });
    // The budget comes first: pods are never there without it.
    this.budget = new kubernetes.policy.v1.PodDisruptionBudget(
      `${name}-budget`,
      {
        metadata: { name: `${args.name}-pdb`, namespace: args.namespace },
        spec: { minAvailable: args.minAvailable, selector: { matchLabels: labels } },
      },
      inNamespace,
    );
    this.deployment = new kubernetes.apps.v1.Deployment(
      `${name}-deployment`,
      {
        metadata: { name: args.name, namespace: args.namespace, labels },
        spec: {
          replicas: args.replicas,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              // One pod lost with a node is one replica, not all of them; a wish, so that a single node will do as well.
              topologySpreadConstraints: [
                {
                  maxSkew: 1,
                  topologyKey: "kubernetes.io/hostname",
                  whenUnsatisfiable: "ScheduleAnyway",
                  labelSelector: { matchLabels: labels },
                },
              ],
              containers: [
                {
                  name: args.name,
                  image: args.image,
                  resources: { requests: { cpu: "10m", memory: "16Mi" } },
                },
              ],
            },
          },
        },
      },
      pulumi.mergeOptions(inNamespace, {
        dependsOn: [this.budget],
        customTimeouts: { create: "5m", update: "5m" },
      }),
    );
    this.registerOutputs({ namespace: args.namespace, deployment: args.name });
  }
}
