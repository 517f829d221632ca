import { spawn } from "node:child_process";
import { mkdir, open, readdir, rm } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, LabError } from "./errors.ts";
import { readIfThere, tail } from "./files.ts";
import { isAlive, parseProcessId, type ProcessId } from "./identity.ts";
import { logOf, type Layout } from "./layout.ts";

export interface Launch {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The child writes its own pid file and only then becomes the program: `exec` keeps pid and start time. So there
 * is no moment in which a process of the lab runs that the folder does not know, not even when whoever starts it
 * is killed right after the fork. If the file cannot be written (the folder was just removed), nothing starts.
 */
const LAUNCHER = `
file=$1; shift
if [ -r /proc/$$/stat ]; then
  started="$(cat /proc/sys/kernel/random/boot_id):$(cut -d' ' -f22 /proc/$$/stat)"
else
  started=$(ps -o lstart= -p $$ | tr -s ' ' | sed 's/^ //; s/ $//')
fi
printf '%s\\n%s\\n' "$$" "$started" > "$file.tmp" && mv "$file.tmp" "$file" || exit 126
exec "$@"
`;

/** What the line of a log begins with that tells of a start. */
const START_MARK = "--- ";

function pidFile(layout: Layout, name: string): string {
  return resolve(layout.run, `${name}.pid`);
}

/**
 * Starts a process of its own session and process group, its output appended to `logs/<name>.log`, and returns
 * once its pid file is there. The environment is PATH, HOME (the lab's folder) and what `launch.env` names, so
 * that nothing of the user's own Kubernetes or proxy settings reaches the lab.
 */
export async function start(layout: Layout, launch: Launch): Promise<ProcessId> {
  await mkdir(layout.logs, { recursive: true });
  const path = pidFile(layout, launch.name);
  await rm(path, { force: true });
  const log = await open(logOf(layout, launch.name), "a", 0o600);
  try {
    await log.write(`${START_MARK}${new Date().toISOString()} ${[launch.file, ...launch.args].join(" ")}\n`);
    const child = spawn("/bin/sh", ["-c", LAUNCHER, "sh", path, launch.file, ...launch.args], {
      cwd: layout.dir,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
      env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: layout.dir, ...launch.env },
    });
    const failed = new Promise<never>((_, reject) => {
      child.once("error", reject);
    });
    failed.catch(() => undefined);
    child.unref();
    return await Promise.race([failed, recorded(layout, launch.name, () => child.exitCode)]);
  } finally {
    await log.close();
  }
}

async function recorded(layout: Layout, name: string, exitCode: () => number | null): Promise<ProcessId> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const id = await processOf(layout, name);
    if (id) return id;
    if (exitCode() !== null || Date.now() > deadline) throw await diedError(layout, name, "did not start");
    await sleep(5);
  }
}

/** The recorded process of this name, alive or not. */
export async function processOf(layout: Layout, name: string): Promise<ProcessId | undefined> {
  const text = await readIfThere(pidFile(layout, name));
  return text === undefined ? undefined : parseProcessId(text);
}

/** Every process this folder has a record of, by name. */
export async function recordedProcesses(layout: Layout): Promise<Map<string, ProcessId>> {
  const found = new Map<string, ProcessId>();
  let names: string[] = [];
  try {
    names = await readdir(layout.run);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
  for (const file of names.sort()) {
    if (!file.endsWith(".pid")) continue;
    const name = file.slice(0, -".pid".length);
    const id = await processOf(layout, name);
    if (id) found.set(name, id);
  }
  return found;
}

/**
 * Stops a recorded process and its group: SIGTERM, then SIGKILL after `graceMs`. Returns whether it was alive.
 * A pid that belongs to another process by now is left alone.
 */
export async function stop(layout: Layout, name: string, graceMs: number): Promise<boolean> {
  const id = await processOf(layout, name);
  const wasAlive = id !== undefined && (await isAlive(id));
  if (id && wasAlive) {
    signal(id.pid, "SIGTERM");
    if (!(await gone(id, graceMs))) {
      signal(id.pid, "SIGKILL");
      if (!(await gone(id, 10_000))) {
        throw new LabError(
          `${name} (pid ${id.pid}) of the lab in ${layout.dir} is still there 10 s after SIGKILL; look at what it waits for (state D?) and run \`lab down\` again`,
        );
      }
    }
  }
  await rm(pidFile(layout, name), { force: true });
  return wasAlive;
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

async function gone(id: ProcessId, withinMs: number): Promise<boolean> {
  const deadline = Date.now() + withinMs;
  while (await isAlive(id)) {
    if (Date.now() > deadline) return false;
    await sleep(25);
  }
  return true;
}

/** The error for a process that is not as it should be, with the end of what it logged since its last start. */
export async function diedError(layout: Layout, name: string, what: string): Promise<LabError> {
  const path = logOf(layout, name);
  const lines = (await tail(path, 1000)).split("\n");
  const since = lines.slice(lines.findLastIndex((line) => line.startsWith(START_MARK)) + 1).slice(-12);
  const shown = since.map((line) => `    ${line.length > 400 ? `${line.slice(0, 400)}…` : line}`).join("\n");
  return new LabError(
    `${name} ${what}; ${shown === "" ? `it wrote nothing to ${path}` : `the end of ${path}:\n${shown}`}`,
  );
}
