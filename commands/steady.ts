/** Believes in a condition when it held several times in a row, and gives up after a time limit with the last reasons. */
import type { Finding } from "../analysis/finding.ts";
import { ApiError, UnreachableError } from "../cluster/api.ts";
import { unreachable } from "../cluster/connect.ts";
import { pause, type Context } from "./context.ts";
import { z } from "zod";

export const SteadySpec = z.strictObject({
  /** Successes in a row. */
  successes: z.number().int().min(1),
  intervalSeconds: z.number().nonnegative(),
  timeoutSeconds: z.number().positive(),
});
export type SteadySpec = z.output<typeof SteadySpec>;

export interface SteadyResult {
  /** Empty when it held. */
  readonly findings: readonly Finding[];
  readonly looks: number;
}

/**
 * @param look  what stands in the way now; a `refuse` among it ends the waiting at once, time would not mend it
 */
export async function holdsSteadily(
  context: Context,
  spec: SteadySpec,
  look: () => Promise<readonly Finding[]>,
): Promise<SteadyResult> {
  const deadline = context.now().getTime() + spec.timeoutSeconds * 1_000;
  let inARow = 0;
  let told = "";
  for (let looks = 1; ; looks += 1) {
    const findings = (await lookOrAway(look)).filter((finding) => finding.severity !== "warn");
    inARow = findings.length === 0 ? inARow + 1 : 0;
    if (inARow >= spec.successes) return { findings: [], looks };
    if (findings.some((finding) => finding.severity === "refuse")) return { findings, looks };
    if (context.now().getTime() > deadline) return { findings, looks };
    const reasons = findings.map((finding) => `${finding.subject}: ${finding.message}`).join("; ");
    if (reasons !== told && reasons !== "") context.progress(`waiting: ${reasons}`);
    told = reasons;
    await pause(spec.intervalSeconds * 1_000, context.signal);
  }
}

/** An API server that is away for a moment, or answers that it is not ready, is a reason to wait, not to fail. */
async function lookOrAway(look: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await look();
  } catch (error) {
    const finding = error instanceof UnreachableError ? unreachable(error) : notReady(error);
    if (finding === undefined) throw error;
    return [finding];
  }
}

/** While it starts, and while its etcd has no leader, an API server answers 5xx; 429 when it has too much to do. */
function notReady(error: unknown): Finding | undefined {
  if (!(error instanceof ApiError) || (error.status < 500 && error.status !== 429)) return undefined;
  return {
    code: "CLUSTER-NOT-READY",
    severity: "hold",
    subject: "API server",
    message: error.message,
    rule: "nothing counts as seen before the API server can say it",
    repair: "look at its log and at `kubectl get --raw '/readyz?verbose'`",
  };
}
