/** The last look before something that cannot be undone: the snapshot it depends on is there, whole, verified and fresh. */
import { z } from "zod";
import type { Finding } from "../analysis/finding.ts";
import { checkSnapshot, type SnapshotFacts as FileFacts } from "../analysis/snapshot.ts";
import { Refusal, type Context } from "./context.ts";
import { EtcdAccess } from "./etcd.ts";
import { sha256OfFile } from "./files.ts";
import { SnapshotFacts, takeSnapshot } from "./snapshot.ts";

/** Part of the spec of every irreversible command; the snapshot itself is its input, the snapshot command's output. */
export const FreshSpec = z.strictObject({ maxAgeMinutes: z.number().positive(), etcd: EtcdAccess });
export type FreshSpec = z.output<typeof FreshSpec>;

const Input = z.object({ facts: z.object({ snapshot: SnapshotFacts }) });

/** The snapshot that the work relies on. Work that takes hours outlives it: then it takes the next one by itself. */
export class FreshSnapshot {
  readonly #context: Context;
  readonly #spec: FreshSpec;
  #snapshot: SnapshotFacts | null;

  constructor(context: Context, spec: FreshSpec) {
    this.#context = context;
    this.#spec = spec;
    const input = Input.safeParse(context.input);
    this.#snapshot = input.success ? input.data.facts.snapshot : null;
  }

  /** Throws Refusal when there is none, or it is not what was verified, or of another cluster. One too old is renewed. */
  async demand(): Promise<void> {
    let findings = await this.#findings();
    if (
      this.#snapshot !== null &&
      findings.length > 0 &&
      findings.every(({ severity }) => severity === "hold")
    ) {
      this.#context.progress("the snapshot is no longer fresh: taking the next one");
      this.#snapshot = (await takeSnapshot(this.#context, this.#spec.etcd)).facts;
      findings = await this.#findings();
    }
    if (findings.length === 0) return;
    const seen = { spec: this.#spec, snapshot: this.#snapshot };
    throw new Refusal("no fresh, verified snapshot: nothing more was changed", findings, seen);
  }

  async #findings(): Promise<Finding[]> {
    const context = this.#context;
    return checkSnapshot({
      snapshot: this.#snapshot === null ? null : await lookAgain(this.#snapshot),
      now: context.now().toISOString(),
      maxAgeMinutes: this.#spec.maxAgeMinutes,
      clusterUid: context.document.bound.clusterUid ?? "",
    }).filter((finding) => finding.severity !== "warn");
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
