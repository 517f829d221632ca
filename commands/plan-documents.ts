/** U6 to U8: the skew answers, the runbook and the rollout, written for this cluster. */
import { z } from "zod";
import { renderRunbook } from "../analysis/runbook.ts";
import { readInventory } from "../cluster/inventory.ts";
import { answerTemplate } from "../config/skew-template.ts";
import { stringify as toYaml } from "yaml";
import { defineCommand, Refusal } from "./context.ts";

const Spec = z.strictObject({
  target: z.string(),
  controlPlane: z.array(z.string()).min(1),
  rollout: z.strictObject({
    stages: z.array(z.strictObject({ stage: z.string(), nodes: z.array(z.string()) })),
    verify_between_stages: z.array(z.string()),
  }),
  etcdEndpoint: z.string(),
  skewTemplate: z.string().optional(),
});

export const planDocuments = defineCommand({
  spec: Spec,
  mutates: false,
  run: async (context, spec) => {
    const live = await readInventory(context.api);
    const answered = answerTemplate(spec.skewTemplate, live.cluster.serverVersion);
    if (!answered.ok) throw new Refusal("no document was written", answered.findings);
    const runbook = renderRunbook({
      cluster: context.document.cluster.context,
      clusterUid: live.cluster.uid,
      serverVersions: [live.cluster.serverVersion],
      nodes: live.nodes.map((node) => ({ ...node, controlPlane: spec.controlPlane.includes(node.name) })),
      target: spec.target,
      rollout: spec.rollout,
      snapshotPath: "etcd-before-upgrade.db",
      etcdEndpoints: spec.etcdEndpoint,
    });
    const files = [
      // Quotes around every version: a reader that parses 1.30 as a number would lose its zero.
      await context.artefact(
        "skew.yaml",
        toYaml(answered.document, { defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN" }),
      ),
      await context.artefact("runbook.md", runbook),
      await context.artefact("rollout.json", `${JSON.stringify(spec.rollout, null, 2)}\n`),
    ];
    return {
      summary: `written: ${files.join(", ")}`,
      seen: { answers: answered.document, rollout: spec.rollout },
    };
  },
});
