/** The record of the stage last begun: a ConfigMap in kube-system, one a cluster. */
import { z } from "zod";

export const RECORD = { namespace: "kube-system", name: "cluster-migration", key: "record" } as const;

export const StageRecord = z.strictObject({
  /** `organization/project/stack` that works on this cluster. */
  stack: z.string(),
  plan: z.string(),
  /** Stage last begun. */
  stage: z.string(),
  came: z.enum(["forward", "back"]),
  /** On the way back: the stages undone, in that order. */
  undone: z.array(z.string()),
  /** Counts every `up` that began work; commands of the stage run again when it changes. */
  attempt: z.number().int(),
  /** First attempt at this stage: ties together what was done before and after an interruption. */
  since: z.number().int(),
});
export type StageRecord = z.output<typeof StageRecord>;
