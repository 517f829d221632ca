import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { ProcessGroup } from "../../lab/plugins/shared/process-group.ts";
import { mark, processesWith, root, until } from "./support.ts";

// Real processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });

const options = { cwd: "/", env: process.env, firstSignal: "SIGTERM", graceMs: 300 } as const;

describe("a process group", () => {
  test("reports exit status and signal in Go's words", async () => {
    expect((await new ProcessGroup("/bin/sh", ["-c", "exit 0"], options).ended).reason).toBe("");
    expect((await new ProcessGroup("/bin/sh", ["-c", "exit 7"], options).ended).reason).toBe("exit status 7");
    expect((await new ProcessGroup("/bin/sh", ["-c", "kill -9 $$"], options).ended).reason).toBe(
      "signal: killed",
    );
  });

  test("rejects when the program does not exist", async () => {
    await expect(new ProcessGroup("/no/such/program", [], options).ended).rejects.toThrow("ENOENT");
  });

  test("ends grandchildren that ignore the first signal", async () => {
    const time = mark();
    const script = `trap '' TERM; (trap '' TERM; sleep ${time}) & sleep ${time}; wait`;
    const group = new ProcessGroup("/bin/sh", ["-c", script], options);
    await until("two sleeps run", () => processesWith(`sleep ${time}`).length >= 2);
    await group.end();
    expect(processesWith(`sleep ${time}`)).toEqual([]);
    expect((await group.ended).signal).not.toBeNull();
  });

  test("gives the text of stdin, and survives a child that does not read it", async () => {
    const group = new ProcessGroup("/bin/sh", ["-c", "exit 0"], { ...options, stdin: "x".repeat(1_000_000) });
    expect((await group.ended).reason).toBe("");
  });

  test("leaves processes alone that a command has put into the background for good", async () => {
    const time = mark();
    const group = new ProcessGroup("/bin/sh", ["-c", `sleep ${time} >/dev/null 2>&1 & exit 0`], options);
    await group.ended;
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(processesWith(`sleep ${time}`)).toHaveLength(1);
    await group.end();
    expect(processesWith(`sleep ${time}`)).toEqual([]);
  });

  test("ends with an owner that is killed without a word", async () => {
    const time = mark();
    const module = join(root, "lab/plugins/shared/process-group.ts");
    const program = `
      const { ProcessGroup } = await import(${JSON.stringify(module)});
      const group = new ProcessGroup("/bin/sh", ["-c", "trap '' TERM; sleep ${time}; sleep ${time}"],
        { cwd: "/", env: process.env, firstSignal: "SIGTERM", graceMs: 300 });
      await group.ended;`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "ignore" });
    await until("the child sleeps", () => processesWith(`sleep ${time}`).length >= 2);
    owner.kill("SIGKILL");
    await until("nothing is left", () => processesWith(`sleep ${time}`).length === 0, 3_000);
  });
});
