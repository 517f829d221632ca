/** Each artefact is there and right: the checks of analysis/artefacts.ts, with what the live cluster says. */
import { z } from "zod";
import {
  checkAfterDrainFile,
  checkCordonFile,
  checkCordonNote,
  checkDrainFile,
  checkRolloutFile,
  checkUncordonFile,
  checkVersionsFile,
} from "../artefacts.ts";
import type { Finding } from "../finding.ts";
import { checkRunbook } from "../runbook-check.ts";
import { checkSkewDocument } from "../skew-template.ts";
import { condition, NOT_DECIDED, type Artefact } from "./world.ts";

/** What one artefact has to fit. */
export const Expectation = z.discriminatedUnion("name", [
  z.strictObject({ name: z.literal("versions.json") }),
  z.strictObject({ name: z.literal("cordon.txt"), node: z.string() }),
  z.strictObject({ name: z.literal("cordon-note.txt") }),
  z.strictObject({ name: z.literal("drain.txt"), node: z.string() }),
  z.strictObject({ name: z.literal("after-drain.txt"), node: z.string(), replicas: z.number() }),
  z.strictObject({ name: z.literal("uncordon.txt"), node: z.string() }),
  z.strictObject({ name: z.literal("skew.yaml") }),
  z.strictObject({ name: z.literal("runbook.md"), target: z.string() }),
  z.strictObject({ name: z.literal("rollout.json") }),
]);
export type ArtefactExpectation = z.output<typeof Expectation>;

/** In the order in which the stages write them. */
export const ARTEFACT_NAMES = Expectation.options.map((option) => option.shape.name.value);

export interface ClusterVersions {
  /** Null: not known, not compared. */
  readonly server: string | null;
  /** Node name to kubelet version. */
  readonly nodes: Readonly<Record<string, string>>;
}

export const artefact = condition(Expectation, (world, expectation) => {
  const found = world.artefacts?.[expectation.name];
  if (found === undefined) return NOT_DECIDED;
  const { cluster, nodes } = world.inventory;
  const versions = Object.fromEntries(nodes.map((node) => [node.name, node.kubeletVersion]));
  return checkArtefact(found, expectation, { server: cluster.serverVersion, nodes: versions });
});

/** @param found null when there is no such file */
export function checkArtefact(
  found: Artefact | null,
  expectation: ArtefactExpectation,
  live: ClusterVersions,
): readonly Finding[] {
  if (found === null) return [wrong(expectation.name, "is not there")];
  const { text } = found;
  const nodes = Object.keys(live.nodes);
  switch (expectation.name) {
    case "versions.json":
      return checkVersionsFile(text, {
        nodes: live.nodes,
        ...(live.server === null ? {} : { server: live.server }),
      });
    case "cordon.txt":
      return checkCordonFile(text, { node: expectation.node, nodes });
    case "cordon-note.txt":
      return checkCordonNote(text);
    case "drain.txt":
      // A node that held nothing to evict has nothing to list; what was evicted is held against the evidence.
      return checkDrainFile(text, { node: expectation.node, evicted: [] });
    case "after-drain.txt":
      return checkAfterDrainFile(text, { node: expectation.node, nodes, replicas: expectation.replicas });
    case "uncordon.txt":
      return checkUncordonFile(text, { node: expectation.node });
    case "skew.yaml":
      if (found.yaml?.ok !== true)
        return [wrong("skew.yaml", `is no YAML: ${found.yaml?.why ?? "it was not parsed"}`)];
      return checkSkewDocument(found.yaml.value).map((finding) => ({
        ...finding,
        subject: `skew.yaml ${finding.subject}`,
      }));
    case "runbook.md":
      return checkRunbook(text, { nodes, target: expectation.target });
    case "rollout.json":
      return checkRolloutFile(text, nodes);
  }
}

function wrong(name: string, message: string): Finding {
  return {
    code: "ARTEFACT",
    severity: "refuse",
    subject: name,
    message,
    rule: "every stage leaves its artefacts",
    repair: "run the stage that writes it again: pulumi up",
  };
}
