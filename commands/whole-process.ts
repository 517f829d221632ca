/**
 * Runs a program that must not be cut short: a package installation or `kubeadm upgrade apply` ended in the middle leaves
 * a machine between two versions. It is in a session of its own and writes to a file, so it outlives whoever started it;
 * asked to stop, its starter waits for its end first. A later run finds it by its note and waits for it as well.
 */
import { spawn } from "node:child_process";
import { appendFile, mkdir, open, readFile, rm, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { lives } from "../cluster/pid.ts";
import { pause, throwIfStopped } from "./context.ts";
import { writeWhole } from "./files.ts";
import { ProcessError } from "./process.ts";

export interface WholeOptions {
  /** Its output is appended here; the note that it runs stands beside. */
  readonly log: string;
  readonly timeoutSeconds: number;
  readonly signal: AbortSignal;
  readonly line: (text: string) => void;
}

interface Note {
  readonly pid: number;
  /** Tells this process from a later one of the same pid; null where the system does not say. */
  readonly started: string | null;
  readonly since: string;
  readonly command: string;
}

const LOOK_MS = 150;
const GRACE_MS = 5_000;
const noteOf = (log: string): string => `${log}.running.json`;

/** @returns also for an exit status that is not 0. Throws ProcessError when it cannot start or is over its time. */
export async function runWhole(
  argv: readonly string[],
  options: WholeOptions,
): Promise<{ readonly code: number; readonly output: string }> {
  const [program, ...args] = argv;
  if (program === undefined) throw new ProcessError("an empty command");
  throwIfStopped(options.signal);
  await mkdir(path.dirname(options.log), { recursive: true });
  const command = argv.join(" ");
  await appendFile(options.log, `${new Date().toISOString()} $ ${command}\n`);
  const from = (await stat(options.log)).size;
  const file = await open(options.log, "a");
  const child = spawn(program, args, { detached: true, stdio: ["ignore", file.fd, file.fd] });
  const ended = new Promise<number>((resolve, reject) => {
    child.once("error", (error) => {
      reject(new ProcessError(`'${program}' cannot be started: ${error.message}`));
    });
    child.once("exit", (code, signal) => {
      resolve(code ?? (signal === null ? 1 : 128));
    });
  });
  const state: { code: number | undefined; late: boolean } = { code: undefined, late: false };
  const waiting = ended.then((code) => {
    state.code = code;
  });
  // Awaited below; until then a failure to start must not count as unhandled.
  waiting.catch(() => undefined);
  await file.close();
  if (child.pid !== undefined) await note(options.log, child.pid, command);
  const told = (): void => {
    options.line(`asked to stop: '${command}' is not cut short, the stop comes after it`);
  };
  options.signal.addEventListener("abort", told, { once: true });
  const timer = setTimeout(() => {
    state.late = true;
    if (child.pid !== undefined) endGroup(child.pid);
  }, options.timeoutSeconds * 1_000);
  let at = from;
  try {
    for (let done = false; !done;) {
      await Promise.race([waiting, sleep(LOOK_MS)]);
      done = state.code !== undefined;
      at = await tellFrom(options, at, done);
    }
    const output = (await readFile(options.log)).subarray(from).toString("utf8").trimEnd();
    throwIfStopped(options.signal);
    if (state.late) throw new ProcessError(`'${command}' did not end within ${options.timeoutSeconds} s`);
    return { code: await ended, output };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", told);
    await rm(noteOf(options.log), { force: true });
  }
}

/** Waits for what an earlier run left at work with this log; ends it when its time is over. */
export async function awaitLeftOver(options: WholeOptions): Promise<void> {
  const text = await readFile(noteOf(options.log), "utf8").catch(() => null);
  if (text === null) return;
  const left = JSON.parse(text) as Note;
  const deadline = Date.parse(left.since) + options.timeoutSeconds * 1_000;
  const atWork = async (): Promise<boolean> => lives(left.pid) && (await startOf(left.pid)) === left.started;
  if (await atWork()) options.line(`waiting: '${left.command}' of an earlier run is still at work`);
  while (await atWork()) {
    if (Date.now() > deadline) endGroup(left.pid);
    await pause(LOOK_MS, options.signal);
  }
  await rm(noteOf(options.log), { force: true });
}

async function note(log: string, pid: number, command: string): Promise<void> {
  const body: Note = { pid, started: await startOf(pid), since: new Date().toISOString(), command };
  await writeWhole(noteOf(log), JSON.stringify(body));
}

/** Tells the whole lines after `at`, at the end also an unfinished one; returns how far it has told. */
async function tellFrom({ log, line }: WholeOptions, at: number, end: boolean): Promise<number> {
  const text = (await readFile(log)).subarray(at).toString("utf8");
  const whole = end ? text : text.slice(0, text.lastIndexOf("\n") + 1);
  for (const one of whole.split("\n")) if (one !== "") line(one);
  return at + Buffer.byteLength(whole);
}

function endGroup(pid: number): void {
  const send = (signal: NodeJS.Signals): void => {
    try {
      process.kill(-pid, signal);
    } catch {
      // It has ended by itself.
    }
  };
  send("SIGTERM");
  setTimeout(() => {
    send("SIGKILL");
  }, GRACE_MS).unref();
}

/** Field 22 of /proc/PID/stat, proc(5): clock ticks from boot to the start of the process. Zombies count as ended. */
async function startOf(pid: number): Promise<string | null> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? "ended" : (fields[19] ?? null);
}
