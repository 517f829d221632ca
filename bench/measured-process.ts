/** Runs one program to its end and measures it from outside, any program in the same way. */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import os from "node:os";
import { text as readText } from "node:stream/consumers";

export interface Measured {
  readonly seconds: number;
  /** Null where the system has no /proc. */
  readonly peakMiB: number | null;
  /** User and system time of the process's own threads; null where the system has no /proc. */
  readonly cpuSeconds: number | null;
  /** Share of the machine's processor time that anything used meanwhile, 0 to 1: near 1 the machine set the pace. */
  readonly machineBusy: number;
  readonly stdout: string;
}

export interface RunOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** Peak memory and processor time only ever grow, so that the last sample is short of the end by this much at most. */
const SAMPLE_MS = 200;
/** `USER_HZ`: Linux counts processor time in hundredths of a second on every architecture that Node runs on. */
const TICKS_PER_SECOND = 100;

/** @throws with the end of its standard error when it does not end with 0 */
export async function runMeasured(
  file: string,
  args: readonly string[],
  options: RunOptions,
): Promise<Measured> {
  const started = performance.now();
  const before = processorTimes();
  const child = spawn(file, args, {
    stdio: ["pipe", "pipe", "pipe"],
    signal: options.signal,
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  let last: { peakMiB: number; cpuSeconds: number } | null = null;
  const timer = setInterval(() => {
    void sample(child.pid).then((seen) => {
      last = seen ?? last;
    });
  }, SAMPLE_MS);
  try {
    child.stdin.end(options.input ?? "");
    const ended = new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", resolve);
    });
    const [code, stdout, stderr] = await Promise.all([
      ended.then((status) => ({ status, at: performance.now() })),
      readText(child.stdout),
      readText(child.stderr),
    ]);
    if (code.status !== 0) {
      throw new Error(
        `${[file, ...args].join(" ")} ended with ${code.status ?? "a signal"}\n${stderr.slice(-2_000)}`,
      );
    }
    const seen = last as { peakMiB: number; cpuSeconds: number } | null;
    return {
      seconds: (code.at - started) / 1_000,
      peakMiB: seen?.peakMiB ?? null,
      cpuSeconds: seen?.cpuSeconds ?? null,
      machineBusy: busyShare(before, processorTimes()),
      stdout,
    };
  } finally {
    clearInterval(timer);
  }
}

interface ProcessorTimes {
  readonly idle: number;
  readonly all: number;
}

function processorTimes(): ProcessorTimes {
  const times = os.cpus().map((cpu) => cpu.times);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    idle: sum(times.map((time) => time.idle)),
    all: sum(times.map(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq)),
  };
}

const busyShare = (from: ProcessorTimes, to: ProcessorTimes): number =>
  1 - (to.idle - from.idle) / Math.max(1, to.all - from.all);

async function sample(pid: number | undefined): Promise<{ peakMiB: number; cpuSeconds: number } | null> {
  try {
    const [status, stat] = await Promise.all([
      readFile(`/proc/${pid ?? 0}/status`, "utf8"),
      readFile(`/proc/${pid ?? 0}/stat`, "utf8"),
    ]);
    const peak = /^VmHWM:\s+(\d+) kB$/mu.exec(status)?.[1];
    // Fields 14 and 15 (proc_pid_stat(5)), counted from behind the command's name, which may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (peak === undefined) return null;
    return {
      peakMiB: Number(peak) / 1024,
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND,
    };
  } catch {
    return null;
  }
}
