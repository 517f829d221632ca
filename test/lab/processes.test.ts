import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  fieldsAfterName,
  formatProcessId,
  isAlive,
  parseProcessId,
  self,
} from "../../lab/cluster/identity.ts";
import { layoutOf, type Layout } from "../../lab/cluster/layout.ts";
import { withLock } from "../../lab/cluster/lock.ts";
import { pickPorts } from "../../lab/cluster/ports.ts";
import { processOf, recordedProcesses, start, stop } from "../../lab/cluster/process.ts";
import { stopLab } from "../../lab/cluster/index.ts";
import { claimFolder } from "../../lab/cluster/folder.ts";

let layout: Layout;

beforeEach(async () => {
  layout = layoutOf(join(await mkdtemp(join(tmpdir(), "lab-test-")), "lab"));
  await claimFolder(layout);
});

afterEach(async () => {
  await stopLab(layout.dir);
  await rm(resolve(layout.dir, ".."), { recursive: true, force: true });
});

const sleeper = { name: "sleeper", file: "/bin/sleep", args: ["60"] };

async function startSleeper(): ReturnType<typeof start> {
  const { mkdir } = await import("node:fs/promises");
  await mkdir(layout.run, { recursive: true });
  return start(layout, sleeper);
}

describe("a process's identity", () => {
  it("reads the start time after a name with blanks and parentheses", () => {
    const after = Array.from({ length: 30 }, (_, index) => String(index + 3));
    expect(fieldsAfterName(`7 (a ) (b) c) ${after.join(" ")}`)[19]).toBe("22");
  });

  it("is this process's own", async () => {
    const me = await self();
    expect(await isAlive(me)).toBe(true);
    expect(await isAlive({ pid: me.pid, started: `${me.started}0` })).toBe(false);
    expect(parseProcessId(formatProcessId(me))).toEqual(me);
  });

  it.each(["", "12", "x\ny", "-1\ny", "0\ny", "1\n"])("is not read from %j", (text) => {
    expect(parseProcessId(text)).toBeUndefined();
  });
});

describe("a tracked process", () => {
  it("is recorded by itself, in a group of its own, and stopped with its group", async () => {
    const id = await startSleeper();
    expect(await isAlive(id)).toBe(true);
    expect(await processOf(layout, "sleeper")).toEqual(id);
    // Signal 0 to the group: it exists, and so the process leads it.
    expect(process.kill(-id.pid, 0)).toBe(true);
    expect(await stop(layout, "sleeper", 2000)).toBe(true);
    expect(await isAlive(id)).toBe(false);
    expect((await recordedProcesses(layout)).size).toBe(0);
    expect(await stop(layout, "sleeper", 2000)).toBe(false);
  });

  it("that ignores SIGTERM is killed after its grace", async () => {
    await startSleeper();
    await stop(layout, "sleeper", 2000);
    const id = await start(layout, {
      name: "stubborn",
      file: "/bin/sh",
      args: ["-c", "trap '' TERM; while :; do sleep 0.1; done"],
    });
    await new Promise((done) => setTimeout(done, 200));
    expect(await stop(layout, "stubborn", 300)).toBe(true);
    expect(await isAlive(id)).toBe(false);
  });

  it("whose pid belongs to someone else by now is not touched", async () => {
    const stranger = spawn("/bin/sleep", ["60"], { detached: true, stdio: "ignore" });
    const pid = stranger.pid ?? 0;
    try {
      await startSleeper();
      await stop(layout, "sleeper", 2000);
      await writeFile(join(layout.run, "etcd.pid"), formatProcessId({ pid, started: "an-earlier-boot:1" }));
      expect(await stop(layout, "etcd", 100)).toBe(false);
      expect((await stopLab(layout.dir)).stopped).toEqual([]);
      expect(process.kill(pid, 0)).toBe(true);
      expect(stranger.exitCode).toBeNull();
    } finally {
      stranger.kill("SIGKILL");
    }
  });

  it("that cannot start says so with its log", async () => {
    await startSleeper();
    const id = await start(layout, { name: "missing", file: "/no/such/program", args: [] });
    await expect.poll(() => isAlive(id)).toBe(false);
    expect(await readFile(join(layout.logs, "missing.log"), "utf8")).toMatch(/no\/such\/program.*not found/u);
  });

  it("does not start in a folder that is gone", async () => {
    await rm(layout.run, { recursive: true, force: true });
    await expect(start(layout, sleeper)).rejects.toThrow(/did not start/u);
  });
});

describe("the lock", () => {
  it("lets one in at a time and says who holds it", async () => {
    await withLock(layout, "`lab up`", async () => {
      await expect(withLock(layout, "`lab down`", () => Promise.resolve())).rejects.toThrow(
        new RegExp(`\`lab up\` \\(pid ${process.pid}\\) is at work`, "u"),
      );
    });
    await expect(withLock(layout, "again", () => Promise.resolve(1))).resolves.toBe(1);
  });

  it("of a dead holder is taken over", async () => {
    await withLock(layout, "x", async () => {
      await writeFile(
        join(layout.run, "lock"),
        formatProcessId({ pid: process.pid, started: "an-earlier-boot:1" }),
      );
      await expect(withLock(layout, "y", () => Promise.resolve("in"))).resolves.toBe("in");
    });
  });
});

describe("ports", () => {
  it("are free, different, outside the ephemeral and NodePort ranges", async () => {
    const ports = Object.values<number>({ ...(await pickPorts()) });
    expect(new Set(ports).size).toBe(6);
    expect(ports.every((port) => port >= 20_000 && port < 30_000)).toBe(true);
    for (const port of ports) {
      const server = createServer();
      await new Promise<void>((done, failed) => {
        server.once("error", failed).listen(port, "127.0.0.1", done);
      });
      await new Promise((done) => server.close(done));
    }
  });
});

describe("the folder", () => {
  it("of someone else is not taken", async () => {
    const theirs = resolve(layout.dir, "..");
    await expect(claimFolder(layoutOf(theirs))).rejects.toThrow(/not empty and no lab made it/u);
    expect((await stopLab(theirs)).found).toBe(false);
  });

  it("keeps what others put into it", async () => {
    await writeFile(join(layout.dir, "notes.txt"), "mine");
    await stopLab(layout.dir);
    expect(await readFile(join(layout.dir, "notes.txt"), "utf8")).toBe("mine");
  });
});
