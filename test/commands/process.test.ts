/** Programs that commands start, how they are ended, and when a command itself has to stop. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Interrupted, pause } from "../../commands/context.ts";
import { ProcessError, runProcess } from "../../commands/process.ts";
import { withCleanup } from "../cluster/cleanup.ts";
import { temporaryFolder } from "./context.ts";

withCleanup();

const options = { signal: new AbortController().signal, timeoutSeconds: 20 };
const shell = (script: string): string[] => ["sh", "-c", script];

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A zombie has ended; only its parent has not looked yet.
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
};

async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 1_000) throw new Error(`never: ${what}`);
    await sleep(10);
  }
}

const pidIn = (file: string): number => (existsSync(file) ? Number(readFileSync(file, "utf8")) : 0);

describe.concurrent("a program", () => {
  it("gives its output, its errors and its exit status", async () => {
    const lines: string[] = [];
    const result = await runProcess(shell("echo out; echo err >&2; exit 3"), {
      ...options,
      line: (line) => lines.push(line),
    });
    expect(result).toEqual({ code: 3, stdout: "out", stderr: "err" });
    expect(lines.sort()).toEqual(["err", "out"]);
  });

  it("is run by no shell", async () => {
    expect((await runProcess(["echo", "$HOME; ls", "*"], options)).stdout).toBe("$HOME; ls *");
  });

  it("has an environment of its own beside the command's", async () => {
    const result = await runProcess(shell('echo "$EXTRA $PATH"'), { ...options, env: { EXTRA: "x" } });
    expect(result.stdout).toBe(`x ${process.env["PATH"] ?? ""}`);
  });

  it("that is not there says so", async () => {
    await expect(runProcess(["no-such-program"], options)).rejects.toThrow(
      /'no-such-program' cannot be started: .*ENOENT/,
    );
    await expect(runProcess([], options)).rejects.toBeInstanceOf(ProcessError);
  });

  it("gets no input, and does not wait for any", async () => {
    expect((await runProcess(["cat"], options)).stdout).toBe("");
  });

  it("is ended with all that it started when its time is over", async () => {
    const file = path.join(temporaryFolder(), "pid");
    const running = runProcess(shell(`sleep 60 & echo $! > ${file}; wait`), {
      ...options,
      timeoutSeconds: 1,
    });
    await expect(running).rejects.toThrow("did not end within 1 s");
    await eventually(() => !lives(pidIn(file)), "the grandchild ended");
  });

  it("is ended with all that it started when the command is told to stop", async () => {
    const file = path.join(temporaryFolder(), "pid");
    const stop = new AbortController();
    const running = runProcess(shell(`sleep 60 & echo $! > ${file}; wait`), {
      ...options,
      signal: stop.signal,
    });
    await eventually(() => pidIn(file) > 0, "the grandchild started");
    stop.abort(new Error("stopped by SIGTERM"));
    const error: unknown = await running.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Interrupted);
    expect((error as Error).message).toContain("stopped by SIGTERM");
    await eventually(() => !lives(pidIn(file)), "the grandchild ended");
  });

  it("is not started any more after the command was told to stop", async () => {
    const file = path.join(temporaryFolder(), "started");
    const running = runProcess(["touch", file], { ...options, signal: AbortSignal.abort(new Error("stop")) });
    await expect(running).rejects.toBeInstanceOf(Interrupted);
    expect(existsSync(file)).toBe(false);
  });

  it("that does not listen is killed", async () => {
    const file = path.join(temporaryFolder(), "pid");
    const script = `trap '' TERM; echo $$ > ${file}; while :; do sleep 0.1; done`;
    const running = runProcess(shell(script), { ...options, timeoutSeconds: 0.5, graceSeconds: 0.5 });
    await expect(running).rejects.toThrow("did not end within 0.5 s");
    await eventually(() => !lives(pidIn(file)), "it ended");
  });
});

describe("a pause", () => {
  it("ends at once when the command is told to stop", async () => {
    const stop = new AbortController();
    const pausing = pause(60_000, stop.signal);
    stop.abort(new Error("enough"));
    await expect(pausing).rejects.toThrow("enough; run the same `pulumi up` again to go on from here");
  });
});

describe.concurrent("when to stop", () => {
  const stopModule = path.join(import.meta.dirname, "../../commands/stop.ts");
  /** Prints why it was told to stop, and ends. */
  const waiter = (folder: string): string => {
    const file = path.join(folder, "waiter.ts");
    writeFileSync(
      file,
      `import { writeFileSync } from "node:fs";
       import { stopSignal } from ${JSON.stringify(stopModule)};
       const signal = stopSignal();
       const busy = setInterval(() => undefined, 1000);
       signal.addEventListener("abort", () => {
         writeFileSync(${JSON.stringify(path.join(folder, "reason"))}, signal.reason.message);
         clearInterval(busy);
       });
       writeFileSync(${JSON.stringify(path.join(folder, "pid"))}, String(process.pid));`,
    );
    return file;
  };
  const reasonIn = (folder: string): string => {
    const file = path.join(folder, "reason");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  };

  it.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("at %s", async (name) => {
    const folder = temporaryFolder();
    const child = spawn(process.execPath, [waiter(folder)], { stdio: "inherit" });
    await eventually(() => pidIn(path.join(folder, "pid")) > 0, "it started");
    child.kill(name);
    await eventually(() => reasonIn(folder) !== "", "it stopped");
    expect(reasonIn(folder)).toBe(`stopped by ${name}`);
  });

  it("when the process that started it is killed", async () => {
    const folder = temporaryFolder();
    const parent = spawn("sh", ["-c", `"${process.execPath}" "${waiter(folder)}" & wait`], {
      stdio: "inherit",
    });
    await eventually(() => pidIn(path.join(folder, "pid")) > 0, "it started");
    parent.kill("SIGKILL");
    await eventually(() => reasonIn(folder) !== "", "it stopped");
    expect(reasonIn(folder)).toBe("the process that started this command is gone");
    await eventually(() => !lives(pidIn(path.join(folder, "pid"))), "it ended");
  });
});
