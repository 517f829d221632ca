/** Evidence: what was looked at, what was seen, when, and a checksum. One file a run; earlier runs are kept. */
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import type { Finding } from "../analysis/finding.ts";
import type { CommandDocument, CommandResult } from "./document.ts";
import { sha256, writeWhole } from "./files.ts";

export interface EvidenceBody {
  /** Artefacts that this run wrote: name and SHA-256. */
  readonly artefacts: Readonly<Record<string, string>>;
  readonly verdict: "done" | "refused" | "interrupted" | "failed";
  readonly summary: string;
  readonly findings: readonly Finding[];
  readonly seen: Readonly<Record<string, unknown>>;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** All evidence below a folder of artefacts, the latest first. */
export async function latestEvidence(
  out: string,
): Promise<{ readonly file: string; readonly body: unknown }[]> {
  const root = path.join(out, "evidence");
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  });
  const files = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(".json"))
    .map((entry) => path.join(entry.parentPath, entry.name));
  const read = await Promise.all(
    files.map(async (file) => ({
      file,
      body: JSON.parse(await readFile(file, "utf8")) as { finishedAt?: string },
    })),
  );
  return read.sort((a, b) => (b.body.finishedAt ?? "").localeCompare(a.body.finishedAt ?? ""));
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
      artefacts: body.artefacts,
      findings: body.findings,
      seen: body.seen,
    },
    null,
    2,
  )}\n`;
  await writeWhole(file, text);
  return { file, sha256: sha256(text), finishedAt };
}
