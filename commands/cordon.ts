/** U2 and U5: takes nodes out of scheduling, and gives them back. */
import { z } from "zod";
import { cordon as cordonNode, uncordon as uncordonNode } from "../cluster/actions.ts";
import { printTable } from "../cluster/tables.ts";
import { defineCommand, type Context } from "./context.ts";

const Spec = z.strictObject({
  nodes: z.array(z.string()).min(1),
  /** Write cordon.txt and cordon-note.txt, or uncordon.txt. Undoing a stage leaves the artefacts of the way forward alone. */
  artefacts: z.boolean(),
});

export const CORDON_NOTE =
  "cordon only keeps new pods from being scheduled onto the node; pods that already run there are left alone and keep running.";

export const cordon = defineCommand({
  spec: Spec,
  mutates: true,
  run: async (context, spec) => {
    const by = `${context.document.stack}@${context.document.stage}`;
    const lines: string[] = [];
    for (const node of spec.nodes) {
      const changed = await cordonNode(context.api, node, by);
      lines.push(`node/${node} ${changed ? "cordoned" : "already cordoned"}`);
      context.progress(lines.at(-1) ?? "");
    }
    const table = await nodeTable(context);
    if (spec.artefacts) {
      await context.artefact("cordon.txt", `${table.join("\n")}\n`);
      await context.artefact("cordon-note.txt", `${CORDON_NOTE}\n`);
    }
    return { summary: lines.join("; "), seen: { output: lines, nodes: table } };
  },
});

export const uncordon = defineCommand({
  spec: Spec,
  mutates: true,
  run: async (context, spec) => {
    const lines: string[] = [];
    for (const node of spec.nodes) {
      const changed = await uncordonNode(context.api, node);
      lines.push(`node/${node} ${changed ? "uncordoned" : "already uncordoned"}`);
      context.progress(lines.at(-1) ?? "");
    }
    const table = await nodeTable(context);
    if (spec.artefacts) await context.artefact("uncordon.txt", `${[...lines, ...table].join("\n")}\n`);
    return { summary: lines.join("; "), seen: { output: lines, nodes: table } };
  },
});

async function nodeTable(context: Context): Promise<string[]> {
  return await printTable(context.api, "/api/v1/nodes", false);
}
