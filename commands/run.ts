/** What surrounds every command: history guard, identity, lock, artefacts. The command itself sees only its context. */
import { mkdir } from "node:fs/promises";
import path from "node:path";
import { describe, type Finding } from "../analysis/finding.ts";
import type { Api } from "../cluster/api.ts";
import { acquireLease, type Held } from "../cluster/lease.ts";
import { parseStrict } from "../config/problems.ts";
import { pause, Refusal, type CommandDefinition, type Context, type Outcome } from "./context.ts";
import { INPUT_VARIABLE, type CommandDocument } from "./document.ts";
import { sha256, writeWhole } from "./files.ts";
import { identityFindings } from "./identity.ts";

export async function run(
  document: CommandDocument,
  definition: CommandDefinition,
  api: Api,
  stop: AbortSignal,
  progress: (line: string) => void,
  /** Filled with what the command wrote, also when it fails later: name and SHA-256. */
  artefacts: Record<string, string>,
): Promise<Outcome> {
  if (document.history)
    throw new Refusal(`'${document.stage}' is past: its commands do not run again`, [
      historyFinding(document),
    ]);
  const spec = parseStrict(definition.spec, document.spec, "spec");
  if (!spec.ok) throw new Error(spec.problems.map(describe).join("\n"));
  // Before the lock: nothing is written to a cluster that was not reviewed, not even a lease.
  await demandIdentity(api, document);

  const lost = new AbortController();
  const signal = AbortSignal.any([stop, lost.signal]);
  const context: Context = {
    document,
    input: readInput(process.env[INPUT_VARIABLE]),
    api,
    signal,
    progress,
    now: () => new Date(),
    artefact: async (name, text) => {
      await writeWhole(path.join(document.out, name), text);
      artefacts[name] = sha256(text);
      return path.join(document.out, name);
    },
    path: async (...parts) => {
      const file = path.join(document.out, ...parts);
      await mkdir(path.dirname(file), { recursive: true });
      return file;
    },
  };
  let held: Held | undefined;
  try {
    if (definition.mutates) {
      held = await acquireLease(api, {
        what: `${document.stack}@${document.stage}`,
        progress,
        signal,
        lost: (reason) => {
          lost.abort(new Error(reason));
        },
        wait: (milliseconds) => pause(milliseconds, signal),
      });
      // And after it: the wait may have been long.
      await demandIdentity(api, document);
    }
    return await definition.run(context, spec.value);
  } finally {
    // An API that is away must not hide why the command ended; the lease then runs out by itself.
    await held?.release().catch(() => undefined);
  }
}

async function demandIdentity(api: Api, document: CommandDocument): Promise<void> {
  const findings = await identityFindings(api, document.bound);
  if (findings.length === 0) return;
  throw new Refusal("this is not the cluster, or these are not the nodes, that were reviewed", findings);
}

function readInput(text: string | undefined): unknown {
  return text === undefined || text === "" ? null : (JSON.parse(text) as unknown);
}

function historyFinding(document: CommandDocument): Finding {
  return {
    code: "STAGE-HISTORY",
    severity: "refuse",
    subject: `${document.stage}/${document.command}`,
    message:
      "the engine asks for a command of a stage that was applied before: the stack's state has lost it",
    rule: "the commands of an applied stage never run again while the stack is further on",
    repair:
      "restore the stack's state from your last `pulumi stack export` (`pulumi stack import`), or go back to that stage if that is possible",
  };
}
