/** The last look before something that cannot be undone: the snapshot it depends on is there, whole, verified and fresh. */
import { z } from "zod";
import { checkSnapshot, type SnapshotFacts as FileFacts } from "../analysis/snapshot.ts";
import { Refusal, type Context } from "./context.ts";
import { sha256OfFile } from "./files.ts";
import { SnapshotFacts } from "./snapshot.ts";

/** Part of the spec of every irreversible command; the snapshot itself is its input, the snapshot command's output. */
export const FreshSpec = z.strictObject({ maxAgeMinutes: z.number().positive() });
export type FreshSpec = z.output<typeof FreshSpec>;

const Input = z.object({ facts: z.object({ snapshot: SnapshotFacts }) });

/** Throws Refusal when there is none, or it is not what was verified, or too old, or of another cluster. */
export async function demandFreshSnapshot(context: Context, spec: FreshSpec): Promise<void> {
  const input = Input.safeParse(context.input);
  const findings = checkSnapshot({
    snapshot: input.success ? await lookAgain(input.data.facts.snapshot) : null,
    now: context.now().toISOString(),
    maxAgeMinutes: spec.maxAgeMinutes,
    clusterUid: context.document.bound.clusterUid ?? "",
  }).filter((finding) => finding.severity !== "warn");
  if (findings.length > 0) {
    throw new Refusal("no fresh, verified snapshot: nothing was changed", findings, {
      spec,
      input: context.input,
    });
  }
}

/** The file as it is now: what was verified when it was taken may have been cut, changed or removed since. */
async function lookAgain(taken: SnapshotFacts): Promise<FileFacts | null> {
  const now = await sha256OfFile(taken.file).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  });
  if (now === null) return null;
  return {
    path: taken.file,
    bytes: taken.bytes,
    takenAt: taken.takenAt,
    hash: now === taken.sha256 ? "valid" : "mismatch",
    copiedFromDisk: false,
    restoredRevision: taken.revision,
    liveRevision: taken.liveRevision,
    clusterUid: taken.clusterUid,
    etcdClusterId: taken.etcdClusterId,
  };
}
