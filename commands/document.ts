/**
 * The one JSON document that a command gets on its standard input. Program and policies write and read it too, so its
 * shape lives here and imports nothing that does I/O.
 */
import { z } from "zod";

/** Environment variable with the standard output of an earlier command that this one is bound to. */
export const INPUT_VARIABLE = "CLUSTER_MIGRATION_INPUT";

export const DocumentSchema = z.strictObject({
  /** Which command of the registry runs. */
  command: z.string(),
  /** `organization/project/stack`: who is at work here. */
  stack: z.string(),
  plan: z.string(),
  stage: z.string(),
  /** Cannot be undone: the policy pack demands a fresh verified snapshot before it. */
  irreversible: z.boolean(),
  /**
   * The stage was applied by an earlier `up`: its commands stay in the program as history, and the engine never runs
   * them again. Should one run all the same (its state was lost), it refuses.
   */
  history: z.boolean(),
  cluster: z.strictObject({ kubeconfig: z.string(), context: z.string() }),
  /** What was reviewed; read again before anything changes. Null parts are not bound yet. */
  bound: z.strictObject({
    clusterUid: z.string().nullable(),
    /** Node name to UID, of the nodes this command touches. */
    nodes: z.record(z.string(), z.string()),
  }),
  /** Folder of artefacts; evidence goes to `evidence/` below it. */
  out: z.string(),
  /** The command's own settings; its schema is the command's. */
  spec: z.record(z.string(), z.unknown()),
});

export type CommandDocument = z.output<typeof DocumentSchema>;

/** What a command prints on its standard output when it is done: one line of JSON. */
export interface CommandResult {
  readonly summary: string;
  readonly evidence: { readonly file: string; readonly sha256: string; readonly finishedAt: string };
  /** Facts that later commands are bound to, e.g. a snapshot's path and checksum. */
  readonly facts: Readonly<Record<string, unknown>>;
}
