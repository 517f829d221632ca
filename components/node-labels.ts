import * as kubernetes from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";

export interface NodeLabelsArgs {
  readonly key: string;
  /** Node name to value. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * One label on existing nodes, by server-side apply: only this field is owned, everything else on the node is left
 * alone, and the label goes when the resource goes.
 */
export class NodeLabels extends pulumi.ComponentResource {
  readonly patches: readonly kubernetes.core.v1.NodePatch[];

  constructor(name: string, args: NodeLabelsArgs, opts?: pulumi.ComponentResourceOptions) {
    super("cluster-migration:index:NodeLabels", name, {}, opts);
    this.patches = Object.entries(args.values).map(
      ([node, value]) =>
        new kubernetes.core.v1.NodePatch(
          `${name}-${node}`,
          { metadata: { name: node, labels: { [args.key]: value } } },
          // The engine records no dependency of a child on what its parent waits for: so each child waits itself.
          { parent: this, dependsOn: opts?.dependsOn ?? [] },
        ),
    );
    this.registerOutputs({ key: args.key, values: args.values });
  }
}
