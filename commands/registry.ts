/** Every command by its name in the document. */
import type { CommandDefinition } from "./context.ts";
import { cordon, uncordon } from "./cordon.ts";
import { drain } from "./drain/index.ts";
import { inventory } from "./inventory.ts";
import { check, gate } from "./judge.ts";
import { planDocuments } from "./plan-documents.ts";
import { snapshot } from "./snapshot.ts";
import { upgradeControlPlane } from "./upgrade-control-plane.ts";
import { upgradeNodes } from "./upgrade-nodes.ts";

export const COMMANDS: Readonly<Record<string, CommandDefinition>> = {
  check,
  cordon,
  drain,
  gate,
  inventory,
  "plan-documents": planDocuments,
  snapshot,
  uncordon,
  "upgrade-control-plane": upgradeControlPlane,
  "upgrade-nodes": upgradeNodes,
};
