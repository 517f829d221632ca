/** U1: what runs here, read from the live cluster. */
import { z } from "zod";
import { readInventory } from "../cluster/inventory.ts";
import { defineCommand } from "./context.ts";

export const inventory = defineCommand({
  spec: z.strictObject({}),
  mutates: false,
  run: async (context) => {
    const live = await readInventory(context.api);
    const versions = {
      server: live.cluster.serverVersion,
      nodes: Object.fromEntries(live.nodes.map((node) => [node.name, node.kubeletVersion])),
    };
    const file = await context.artefact("versions.json", `${JSON.stringify(versions, null, 2)}\n`);
    return {
      summary: `API server ${versions.server}, ${live.nodes.length} nodes: ${file}`,
      seen: {
        clusterUid: live.cluster.uid,
        server: versions.server,
        nodes: live.nodes,
        budgets: live.budgets.length,
        pods: live.pods.length,
      },
    };
  },
});
