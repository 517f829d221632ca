/** The config of the source's example, parsed, for tests of the plan `upgrade`. */
import { UpgradeConfig } from "../../config/upgrade.ts";
import type { CarriedFacts } from "../../plans/facts.ts";

export const config = (more: Readonly<Record<string, unknown>> = {}): UpgradeConfig =>
  UpgradeConfig.parse({
    target: "v1.35.4",
    drill: { node: "lab-node-1" },
    etcd: { endpoints: ["https://127.0.0.1:2379"] },
    machine: { exec: ["ssh", "{node}", "sudo"] },
    ...more,
  });

export const facts = (names: readonly string[], controlPlane: readonly string[]): CarriedFacts => ({
  clusterUid: "cluster-uid",
  serverVersion: "v1.34.4",
  nodes: names.map((name) => ({
    name,
    uid: `uid-${name}`,
    controlPlane: controlPlane.includes(name),
    kubeletVersion: "v1.34.4",
  })),
});

export const lab: CarriedFacts = facts(["lab-node-0", "lab-node-1", "lab-node-2"], ["lab-node-0"]);
