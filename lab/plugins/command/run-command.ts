/** Runs one command with the inputs of a Command, and turns what it said into outputs. */
import { statSync } from "node:fs";
import { ProcessGroup } from "../shared/process-group.ts";
import type { Ending } from "../shared/process-group.ts";
import { assetsIn } from "./globs.ts";
import { archiveSignature, isObject, reveal, signatureKey } from "./values.ts";
import type { Properties } from "./values.ts";

/**
 * How long a cancelled command may take to end by itself, in milliseconds. The official provider kills at once
 * (exec.CommandContext), so no command may depend on this time; it only spares the lab half-written files.
 */
export const cancelGraceMs = 2_000;

export interface Outputs {
  readonly stdout: string;
  readonly stderr: string;
  readonly assets?: unknown;
  readonly archive?: unknown;
}

export interface RunContext {
  /** Gets each line of output that `logging` lets through, in order, while the command runs. */
  readonly log: (line: string) => void;
  /** Resolves when the lines given to `log` have arrived. */
  readonly logged: () => Promise<void>;
  /** Aborts when the engine cancels, or the operation's time is up. */
  readonly signal: AbortSignal;
}

/**
 * @param inputs the inputs of a Command, secrets and all
 * @param previous the outputs of the last run
 * @throws with the command's exit status, its text and all of its output
 */
export async function runCommand(
  command: string,
  inputs: Properties,
  previous: Outputs,
  context: RunContext,
): Promise<Outputs> {
  const plain = reveal(inputs) as Properties;
  const interpreter = strings(plain["interpreter"]);
  const [program, ...args] = interpreter.length > 0 ? [...interpreter, command] : ["/bin/sh", "-c", command];
  const dir = typeof plain["dir"] === "string" ? plain["dir"] : process.cwd();
  const quoted = JSON.stringify(command);
  if (!isFolder(dir)) throw new Error(`chdir ${dir}: no such file or directory: running ${quoted}:\n`);
  const stdin = plain["stdin"];

  if (isAborted(context.signal)) throw new Error(`cancelled before it was started: running ${quoted}:\n`);
  const group = new ProcessGroup(program, args, {
    cwd: dir,
    env: environment(plain, previous),
    ...(typeof stdin === "string" && stdin !== "" && { stdin }),
    firstSignal: "SIGTERM",
    graceMs: cancelGraceMs,
  });
  const cancel = (): void => void group.end();
  context.signal.addEventListener("abort", cancel, { once: true });

  const both: Buffer[] = [];
  const stdout = collect(group, "stdout", both, logs(plain["logging"], "stdout") ? context.log : undefined);
  const stderr = collect(group, "stderr", both, logs(plain["logging"], "stderr") ? context.log : undefined);
  let ending: Ending;
  try {
    ending = await group.ended;
  } catch (error) {
    throw new Error(`${startFailure(program, error)}: running ${quoted}:\n`, { cause: error });
  } finally {
    context.signal.removeEventListener("abort", cancel);
  }
  // The leader may be gone while others of its group still end.
  if (isAborted(context.signal)) await group.end();
  const outputs = { stdout: stdout(), stderr: stderr() };
  await context.logged();
  if (ending.reason !== "") {
    throw new Error(`${ending.reason}: running ${quoted}:\n${Buffer.concat(both).toString("utf8")}`);
  }
  return { ...previous, ...filesOf(plain, dir), ...outputs };
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}

function environment(plain: Properties, previous: Outputs): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = { ...process.env };
  if (isObject(plain["environment"])) {
    for (const [name, value] of Object.entries(plain["environment"])) env[name] = String(value);
  }
  if (plain["addPreviousOutputInEnv"] !== false) {
    if (previous.stdout !== "") env["PULUMI_COMMAND_STDOUT"] = previous.stdout;
    if (previous.stderr !== "") env["PULUMI_COMMAND_STDERR"] = previous.stderr;
  }
  return env;
}

function logs(logging: unknown, stream: "stdout" | "stderr"): boolean {
  return logging === undefined || logging === "stdoutAndStderr" || logging === stream;
}

/** Gathers one stream; the function returned gives its text without the last line's end. */
function collect(
  group: ProcessGroup,
  stream: "stdout" | "stderr",
  both: Buffer[],
  log: ((line: string) => void) | undefined,
): () => string {
  const chunks: Buffer[] = [];
  const decoder = new TextDecoder();
  let partial = "";
  group.child[stream]?.on("data", (chunk: Buffer) => {
    chunks.push(chunk);
    both.push(chunk);
    if (log === undefined) return;
    const lines = (partial + decoder.decode(chunk, { stream: true })).split("\n");
    partial = lines.pop() ?? "";
    for (const line of lines) log(line.replace(/\r$/, ""));
  });
  return () => {
    if (log !== undefined && partial !== "") log(partial);
    const text = Buffer.concat(chunks).toString("utf8");
    return text.endsWith("\n") ? text.slice(0, -1) : text;
  };
}

function filesOf(plain: Properties, dir: string): { assets?: unknown; archive?: unknown } {
  const assetPaths = plain["assetPaths"];
  const archivePaths = plain["archivePaths"];
  return {
    ...(assetPaths !== undefined && { assets: assetsIn(dir, strings(assetPaths)) }),
    ...(archivePaths !== undefined && {
      archive: { [signatureKey]: archiveSignature, assets: assetsIn(dir, strings(archivePaths)) },
    }),
  };
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function startFailure(program: string, error: unknown): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === "ENOENT" && !program.includes("/"))
    return `exec: "${program}": executable file not found in $PATH`;
  if (code === "ENOENT") return `fork/exec ${program}: no such file or directory`;
  if (code === "EACCES") return `fork/exec ${program}: permission denied`;
  if (code === "E2BIG") return `fork/exec ${program}: argument list too long`;
  return error instanceof Error ? error.message : String(error);
}
