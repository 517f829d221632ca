/**
 * Facts that the stack carries from stage to stage in its own outputs: what the inventory stage saw. The plan is bound to
 * them; they change only when the inventory is taken again.
 */
import { z } from "zod";
import type { Inventory } from "../analysis/inventory.ts";

export const CarriedFacts = z.object({
  clusterUid: z.string(),
  serverVersion: z.string(),
  nodes: z.array(
    z.object({ name: z.string(), uid: z.string(), controlPlane: z.boolean(), kubeletVersion: z.string() }),
  ),
});
export type CarriedFacts = z.output<typeof CarriedFacts>;

export function factsOf(inventory: Inventory): CarriedFacts {
  return {
    clusterUid: inventory.cluster.uid,
    serverVersion: inventory.cluster.serverVersion,
    nodes: inventory.nodes.map(({ name, uid, controlPlane, kubeletVersion }) => ({
      name,
      uid,
      controlPlane,
      kubeletVersion,
    })),
  };
}
