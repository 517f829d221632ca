import * as kubernetes from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { RECORD, type StageRecord } from "../analysis/stage-record.ts";

export interface MigrationRecordArgs {
  readonly record: StageRecord;
}

/**
 * The stage last begun, written in the cluster itself after its gate passed and before anything changes. A later
 * preview, on whatever machine, knows from it that an `up` was cut short; and no second stack works on this cluster.
 */
export class MigrationRecord extends pulumi.ComponentResource {
  /** For `dependsOn`. */
  readonly resource: kubernetes.core.v1.ConfigMap;

  constructor(
    name: string,
    args: MigrationRecordArgs,
    opts?: pulumi.ComponentResourceOptions & { holds?: boolean; after?: pulumi.Resource[] },
  ) {
    super("cluster-migration:index:MigrationRecord", name, {}, opts);
    this.resource = new kubernetes.core.v1.ConfigMap(
      `${name}-configmap`,
      {
        metadata: { name: RECORD.name, namespace: RECORD.namespace },
        data: { [RECORD.key]: JSON.stringify(args.record) },
      },
      { parent: this, protect: opts?.holds ?? false, dependsOn: opts?.after ?? [] },
    );
    this.registerOutputs({ stage: args.record.stage });
  }
}
