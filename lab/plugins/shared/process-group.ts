/**
 * Child processes that can be ended as a whole.
 *
 * Each child leads a process group of its own, so that what it started ends with it. The price: such a group is no
 * longer reached by the signal that the engine sends to the plugin's group (sdk/go/common/util/cmdutil/child_unix.go).
 * So a guard stands beside it, a shell that waits for the plugin to say that all is well; when the plugin dies without
 * a word (kill -9), the guard's stdin ends and the guard ends the group. `kill` and `read` are builtins: the guard
 * costs one idle shell.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const guardScript =
  'read -r word || { kill -s "$2" -- "-$1"; i=0; while [ $i -lt "$3" ] && kill -s 0 -- "-$1"; ' +
  'do sleep 0.1; i=$((i+1)); done; kill -s KILL -- "-$1"; } 2>/dev/null';

export interface GroupOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Text for the child's stdin; without it stdin is /dev/null. */
  readonly stdin?: string;
  /** The signal that asks the group to end. */
  readonly firstSignal: "SIGTERM" | "SIGINT";
  /** How long the group may take to end by itself before SIGKILL, in milliseconds. */
  readonly graceMs: number;
}

/** How a child ended, in the words Go's os/exec uses, so that messages read as the official plugins' do. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** "" for success, else for example "exit status 3" or "signal: killed". */
  readonly reason: string;
}

export class ProcessGroup {
  readonly child: ChildProcess;
  /** Settles when the child has ended and its output is read to the end; rejects when it could not be started. */
  readonly ended: Promise<Ending>;
  readonly #options: GroupOptions;
  #ending: Promise<void> | undefined;

  constructor(command: string, args: readonly string[], options: GroupOptions) {
    this.#options = options;
    this.child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    const release = this.child.pid === undefined ? undefined : guard(this.child.pid, options);
    this.ended = new Promise<Ending>((resolve, reject) => {
      this.child.once("error", reject);
      this.child.once("close", (code, signal) => {
        release?.();
        resolve({ code, signal, reason: reasonOf(code, signal) });
      });
    });
    // The caller awaits `ended`; a spawn error in between must not count as unhandled.
    this.ended.catch(() => undefined);
    if (options.stdin !== undefined) {
      // A command is free to end without reading all of its stdin (EPIPE).
      this.child.stdin?.on("error", () => undefined);
      this.child.stdin?.end(options.stdin);
    }
  }

  /** Asks the group to end, then kills it. Resolves when no process of the group is left. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    const pid = this.child.pid;
    if (pid === undefined) return;
    signalGroup(pid, this.#options.firstSignal);
    const deadline = Date.now() + this.#options.graceMs;
    while (groupAlive(pid) && Date.now() < deadline) await sleep(25);
    if (groupAlive(pid)) signalGroup(pid, "SIGKILL");
    // A process in uninterruptible sleep cannot be waited for without end.
    const last = Date.now() + 2_000;
    while (groupAlive(pid) && Date.now() < last) await sleep(25);
  }
}

function guard(pid: number, options: GroupOptions): () => void {
  const tenths = String(Math.max(1, Math.ceil(options.graceMs / 100)));
  const watcher = spawn(
    "/bin/sh",
    ["-c", guardScript, "group-guard", String(pid), options.firstSignal.slice(3), tenths],
    { detached: true, stdio: ["pipe", "ignore", "ignore"] },
  );
  watcher.on("error", () => undefined);
  watcher.stdin.on("error", () => undefined);
  watcher.unref();
  return () => {
    watcher.stdin.end("released\n");
  };
}

export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // ESRCH: nobody left, which is what was wanted.
  }
}

/** Whether any process of the group still runs; one that has ended and waits to be reaped does not. */
export function groupAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== "linux") return true;
  // The signal reaches zombies, too, and in a container nobody may ever reap them.
  return readdirSync("/proc").some((entry) => /^\d+$/.test(entry) && runsInGroup(entry, pid));
}

function runsInGroup(entry: string, group: number): boolean {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${entry}/stat`, "utf8");
  } catch {
    return false;
  }
  // pid (name) state parent group …; the name may hold spaces and parentheses. See proc(5).
  const [state, , inGroup] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(inGroup) === group && state !== "Z" && state !== "X";
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const signalWords: Readonly<Partial<Record<NodeJS.Signals, string>>> = {
  SIGHUP: "hangup",
  SIGINT: "interrupt",
  SIGQUIT: "quit",
  SIGABRT: "aborted",
  SIGKILL: "killed",
  SIGSEGV: "segmentation fault",
  SIGPIPE: "broken pipe",
  SIGTERM: "terminated",
};

function reasonOf(code: number | null, signal: NodeJS.Signals | null): string {
  if (signal !== null) return `signal: ${signalWords[signal] ?? signal}`;
  return code === 0 ? "" : `exit status ${code ?? "unknown"}`;
}
