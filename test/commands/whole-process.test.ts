/** What must not be cut short is not, and a later run knows of it. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Interrupted } from "../../commands/context.ts";
import { ProcessError } from "../../commands/process.ts";
import { awaitLeftOver, runWhole, type WholeOptions } from "../../commands/whole-process.ts";

let dir: string;
let lines: string[];
let stop: AbortController;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "whole-"));
  lines = [];
  stop = new AbortController();
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

const options = (timeoutSeconds = 20): WholeOptions => ({
  log: path.join(dir, "evidence", "machine.log"),
  timeoutSeconds,
  signal: stop.signal,
  line: (line) => {
    lines.push(line);
  },
});
const noteFile = (): string => `${options().log}.running.json`;
const sh = (script: string): string[] => ["sh", "-c", script];

describe("runWhole", () => {
  it("gives exit status and output of both streams, tells each line, and keeps them in the log", async () => {
    const result = await runWhole(sh("echo one; echo two >&2; printf three; exit 3"), options());
    expect(result).toEqual({ code: 3, output: "one\ntwo\nthree" });
    expect(lines).toEqual(["one", "two", "three"]);
    expect(readFileSync(options().log, "utf8")).toContain("one\ntwo\nthree");
    expect(existsSync(noteFile())).toBe(false);
  });

  it("asked to stop, lets it end first, then says that it was interrupted", async () => {
    const marker = path.join(dir, "done");
    const running = runWhole(sh(`sleep 0.6; echo end > ${marker}`), options());
    setTimeout(() => {
      stop.abort(new Error("stopped by SIGTERM"));
    }, 150);
    await expect(running).rejects.toBeInstanceOf(Interrupted);
    expect(readFileSync(marker, "utf8")).toBe("end\n");
    expect(lines.join()).toContain("is not cut short");
  });

  it("ends it with all its children when its time is over", async () => {
    const running = runWhole(sh("sleep 60 & sleep 60"), options(0.3));
    await expect(running).rejects.toBeInstanceOf(ProcessError);
  });

  it("says which program cannot be started", async () => {
    await expect(runWhole(["no-such-program-here"], options())).rejects.toThrow(/no-such-program-here/);
  });
});

describe("awaitLeftOver", () => {
  it("waits for what an earlier run left at work", async () => {
    const marker = path.join(dir, "done");
    const earlier = runWhole(sh(`sleep 0.8; echo end > ${marker}`), options()).catch(() => undefined);
    await expect.poll(() => existsSync(noteFile())).toBe(true);
    await awaitLeftOver(options());
    expect(readFileSync(marker, "utf8")).toBe("end\n");
    expect(lines.join()).toContain("of an earlier run is still at work");
    await earlier;
  });

  it("ends it when its own time is over", async () => {
    const earlier = runWhole(sh("sleep 60"), options()).catch(() => "ended");
    await expect.poll(() => existsSync(noteFile())).toBe(true);
    await sleep(300);
    await awaitLeftOver(options(0.2));
    await expect(earlier).resolves.toMatchObject({ code: 128 });
  });

  it("does not wait for another process that has got the same pid since", async () => {
    const { writeFileSync, mkdirSync } = await import("node:fs");
    mkdirSync(path.dirname(noteFile()), { recursive: true });
    const since = new Date().toISOString();
    writeFileSync(noteFile(), JSON.stringify({ pid: process.pid, started: "1", since, command: "kubeadm" }));
    await awaitLeftOver(options());
    expect(lines).toEqual([]);
    expect(existsSync(noteFile())).toBe(false);
  });

  it("has nothing to wait for where nothing was left", async () => {
    await awaitLeftOver(options());
    expect(lines).toEqual([]);
  });
});
