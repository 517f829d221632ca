/** Evidence: what was looked at, what was seen, when, and a checksum. One file a run; earlier runs are kept. */
import path from "node:path";
import type { Finding } from "../analysis/finding.ts";
import type { CommandDocument, CommandResult } from "./document.ts";
import { sha256, writeWhole } from "./files.ts";

export interface EvidenceBody {
  readonly verdict: "done" | "refused" | "interrupted" | "failed";
  readonly summary: string;
  readonly findings: readonly Finding[];
  readonly seen: Readonly<Record<string, unknown>>;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** @returns where it is, relative to the project as `out` is, and the SHA-256 of the file's bytes */
export async function writeEvidence(
  document: CommandDocument,
  body: EvidenceBody,
): Promise<CommandResult["evidence"]> {
  const finishedAt = body.finishedAt.toISOString();
  const stamp = finishedAt.replace(/[-:]/g, "").replace(".", "");
  const file = path.join(document.out, "evidence", document.stage, `${document.command}-${stamp}.json`);
  const text = `${JSON.stringify(
    {
      stack: document.stack,
      plan: document.plan,
      stage: document.stage,
      command: document.command,
      verdict: body.verdict,
      summary: body.summary,
      startedAt: body.startedAt.toISOString(),
      finishedAt,
      cluster: { context: document.cluster.context, bound: document.bound },
      spec: document.spec,
      findings: body.findings,
      seen: body.seen,
    },
    null,
    2,
  )}\n`;
  await writeWhole(file, text);
  return { file, sha256: sha256(text), finishedAt };
}
