/**
 * Entry of every command resource: one JSON document on standard input, progress for people on standard error, one
 * line of JSON on standard output, evidence in a file. Exit status 0 means done; 1 refused or failed; 75 interrupted
 * (run again to go on).
 */
import { text as readText } from "node:stream/consumers";
import { describe, type Finding } from "../analysis/finding.ts";
import { ConnectError, openCluster, unreachable } from "../cluster/connect.ts";
import { parseStrict } from "../config/problems.ts";
import { COMMANDS } from "./registry.ts";
import { Interrupted, Refusal } from "./context.ts";
import { DocumentSchema, type CommandDocument } from "./document.ts";
import { writeEvidence, type EvidenceBody } from "./evidence.ts";
import { run } from "./run.ts";
import { stopSignal } from "./stop.ts";

const EXIT = { done: 0, refused: 1, failed: 1, interrupted: 75 } as const;

const progress = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

type Body = Omit<EvidenceBody, "artefacts" | "startedAt" | "finishedAt">;

async function main(): Promise<number> {
  const startedAt = new Date();
  const document = readDocument(await readText(process.stdin));
  const definition = Object.hasOwn(COMMANDS, document.command) ? COMMANDS[document.command] : undefined;
  if (definition === undefined) throw new Error(`there is no command '${document.command}'`);
  let body: Body;
  const artefacts: Record<string, string> = {};
  let facts: Readonly<Record<string, unknown>> = {};
  try {
    const outcome = await run(
      document,
      definition,
      openCluster(document.cluster),
      stopSignal(),
      progress,
      artefacts,
    );
    facts = outcome.facts ?? {};
    body = { verdict: "done", summary: outcome.summary, findings: [], seen: { ...outcome.seen, facts } };
  } catch (error) {
    body = asBody(error);
  }
  const evidence = await writeEvidence(document, { ...body, artefacts, startedAt, finishedAt: new Date() });
  if (body.verdict === "done") {
    process.stdout.write(`${JSON.stringify({ summary: body.summary, evidence, facts })}\n`);
  } else {
    progress(`${document.stage}/${document.command} ${body.verdict}: ${body.summary}`);
    for (const finding of body.findings) progress(describe(finding));
    progress(`evidence: ${evidence.file} (sha256 ${evidence.sha256})`);
  }
  return EXIT[body.verdict];
}

function readDocument(text: string): CommandDocument {
  const parsed = parseStrict(DocumentSchema, parseJson(text), "document");
  if (!parsed.ok) throw new Error(parsed.problems.map(describe).join("\n"));
  return parsed.value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new Error(`standard input is no JSON document: ${(error as Error).message}`, { cause: error });
  }
}

function asBody(error: unknown): Body {
  if (error instanceof Refusal) {
    return { verdict: "refused", summary: error.message, findings: error.findings, seen: error.seen };
  }
  if (error instanceof Interrupted)
    return { verdict: "interrupted", summary: error.message, findings: [], seen: {} };
  const known: Finding | undefined = error instanceof ConnectError ? error.finding : unreachable(error);
  if (known !== undefined) return { verdict: "refused", summary: known.message, findings: [known], seen: {} };
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    verdict: "failed",
    summary: error instanceof Error ? error.message : String(error),
    findings: [],
    seen: { detail },
  };
}

try {
  process.exitCode = await main();
} catch (error) {
  progress(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
// Watches and renewals may still hold the event loop; the work is done and its evidence written.
process.exit();
