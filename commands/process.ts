/** Runs a program: no shell, its output to people line by line, its whole process group ended when time or signal says so. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { throwIfStopped } from "./context.ts";

export interface ProcessOptions {
  readonly signal: AbortSignal;
  readonly timeoutSeconds: number;
  /** From SIGTERM to SIGKILL; default 5. */
  readonly graceSeconds?: number;
  /** Each line of standard output and standard error, as it comes. */
  readonly line?: (text: string) => void;
  readonly env?: Readonly<Record<string, string>>;
}

export interface ProcessResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program could not be started, or did not end in time. */
export class ProcessError extends Error {
  override readonly name = "ProcessError";
}

const GRACE_SECONDS = 5;

/** @returns also for an exit status that is not 0; throws ProcessError or Interrupted */
export async function runProcess(argv: readonly string[], options: ProcessOptions): Promise<ProcessResult> {
  const [program, ...args] = argv;
  if (program === undefined) throw new ProcessError("an empty command");
  throwIfStopped(options.signal);
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...options.env },
  });
  const end = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // It has ended by itself.
    }
  };
  const stop = (): void => {
    end("SIGTERM");
    setTimeout(
      () => {
        end("SIGKILL");
      },
      (options.graceSeconds ?? GRACE_SECONDS) * 1_000,
    ).unref();
  };
  const state = { late: false };
  const timer = setTimeout(() => {
    state.late = true;
    stop();
  }, options.timeoutSeconds * 1_000);
  options.signal.addEventListener("abort", stop, { once: true });
  try {
    const collect = async (stream: NodeJS.ReadableStream): Promise<string> => {
      const lines: string[] = [];
      for await (const line of createInterface({ input: stream })) {
        lines.push(line);
        options.line?.(line);
      }
      return lines.join("\n");
    };
    const ended = new Promise<number>((resolve, reject) => {
      child.once("error", (error) => {
        reject(new ProcessError(`'${program}' cannot be started: ${error.message}`));
      });
      child.once("close", (code, signal) => {
        resolve(code ?? (signal === null ? 1 : 128));
      });
    });
    const [code, stdout, stderr] = await Promise.all([ended, collect(child.stdout), collect(child.stderr)]);
    throwIfStopped(options.signal);
    if (state.late)
      throw new ProcessError(`'${argv.join(" ")}' did not end within ${options.timeoutSeconds} s`);
    return { code, stdout, stderr };
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", stop);
  }
}
