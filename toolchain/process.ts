/** Who runs: processes told apart by pid and start time, because pids are used again. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

export interface Owner {
  readonly pid: number;
  /** Start time as the system tells it; opaque, only compared. Empty where the system does not tell. */
  readonly start: string;
  readonly host: string;
}

/** Start time of a process; undefined when no such process runs. */
function startOf(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
      // The name in parentheses may hold spaces; starttime is field 22, the 20th after it (proc_pid_stat(5)).
      return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
    } catch {
      return undefined;
    }
  }
  try {
    const started = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).trim();
    return started === "" ? undefined : createHash("sha256").update(started).digest("hex").slice(0, 12);
  } catch {
    return undefined;
  }
}

const host = createHash("sha256").update(hostname()).digest("hex").slice(0, 8);
let self: Owner | undefined;

export function ownProcess(): Owner {
  self ??= { pid: process.pid, start: startOf(process.pid) ?? "", host };
  return self;
}

/** "unknown" for a process of another host that shares the folder: its pids say nothing here. */
export function stateOf(owner: Owner): "alive" | "dead" | "unknown" {
  if (owner.host !== host) return "unknown";
  const start = startOf(owner.pid);
  if (start === undefined) return "dead";
  return owner.start === "" || owner.start === start ? "alive" : "dead";
}

/** Ends a process that was started as leader of its own group, with all it has started. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone, which is what was wanted.
  }
}
