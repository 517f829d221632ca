import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { codeOf } from "./errors.ts";

/**
 * A process is named by its pid *and* by when it started, because the kernel gives a dead process's pid to
 * another one sooner or later, and a lab must never signal a stranger.
 *
 * - Linux: `<boot id>:<field 22 of /proc/<pid>/stat>` (proc(5): start time in clock ticks since boot; the boot
 *   id tells one boot's ticks from another's).
 * - elsewhere: what `ps -o lstart=` prints.
 */
export interface ProcessId {
  readonly pid: number;
  readonly started: string;
}

const run = promisify(execFile);

/** The identity of whatever has this pid now, or undefined when nothing has, or only a zombie. */
export async function startOf(pid: number): Promise<string | undefined> {
  if (process.platform === "linux") return startOnLinux(pid);
  try {
    const { stdout } = await run("ps", ["-o", "stat=,lstart=", "-p", String(pid)]);
    const [state = "", ...started] = stdout.trim().split(/\s+/u);
    return state === "" || state.startsWith("Z") ? undefined : started.join(" ");
  } catch {
    return undefined;
  }
}

function startOnLinux(pid: number): string | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ESRCH") return undefined;
    throw error;
  }
  const fields = fieldsAfterName(stat);
  // Field 3 is the state, field 22 the start time; the first element here is field 3.
  const state = fields[0];
  const started = fields[19];
  if (started === undefined || state === "Z" || state === "X") return undefined;
  return `${readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()}:${started}`;
}

/** The fields of a stat line from the third on. The name (field 2) may itself hold blanks and parentheses. */
export function fieldsAfterName(stat: string): string[] {
  return stat
    .slice(stat.lastIndexOf(")") + 1)
    .trim()
    .split(" ");
}

/** Whether this very process, not another with its pid, is alive. */
export async function isAlive(id: ProcessId): Promise<boolean> {
  return (await startOf(id.pid)) === id.started;
}

/** The identity of the process that asks. */
export async function self(): Promise<ProcessId> {
  const started = await startOf(process.pid);
  if (started === undefined)
    throw new Error(`this process (pid ${process.pid}) cannot read its own start time`);
  return { pid: process.pid, started };
}

/** `pid` on the first line, identity on the second: what the launcher and the lock write. */
export function parseProcessId(text: string): ProcessId | undefined {
  const [pid = "", started = ""] = text.split("\n");
  return /^[1-9][0-9]*$/u.test(pid) && started !== "" ? { pid: Number(pid), started } : undefined;
}

export function formatProcessId(id: ProcessId): string {
  return `${id.pid}\n${id.started}\n`;
}
