import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { evictionsSince, endOf } from "../../bench/drain/audit.ts";
import { fleet } from "../../bench/forecast/fleet.ts";
import { runMeasured } from "../../bench/measured-process.ts";
import { table } from "../../bench/report.ts";
import { ratios, spread, type BenchResult } from "../../bench/result.ts";
import { forecastDrain } from "../../analysis/drain-forecast.ts";

let dir = "";
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "bench-test-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const request = (subresource: string | undefined, code: number): string =>
  JSON.stringify({
    objectRef: { resource: "pods", ...(subresource === undefined ? {} : { subresource }) },
    responseStatus: { code },
  });

describe("figures", () => {
  it("have the middle of an even number of runs between the two in the middle", () => {
    expect(spread([4, 1, 3, 2])).toEqual({ min: 1, median: 2.5, max: 4 });
    expect(spread([3, 1, 2])).toEqual({ min: 1, median: 2, max: 3 });
  });

  it("are divided run by run, not median by median", () => {
    expect(ratios("r", [10, 30], [5, 10]).values).toEqual([2, 3]);
  });

  it("that are missing are shown as missing", () => {
    const result: BenchResult = {
      name: "x",
      about: "",
      settings: {},
      loadAtStart: 0,
      tookSeconds: 0,
      figures: [{ name: "memory", unit: "MiB", values: [Number.NaN] }],
    };
    expect(table(result)).toContain("| memory | -   | -      | -   | -          |");
  });
});

describe("evictions in an audit log", () => {
  it("are counted from where the drain began, by the server's answer", async () => {
    const log = path.join(dir, "audit.log");
    await writeFile(log, `${request("eviction", 201)}\n`);
    const from = await endOf(log);
    const lines = [
      request("eviction", 201),
      request("eviction", 429),
      request("eviction", 429),
      request("eviction", 404),
      request(undefined, 200),
      request("binding", 201),
    ];
    await writeFile(log, `${lines.join("\n")}\n`, { flag: "a" });
    expect(await evictionsSince(log, from)).toEqual({ accepted: 1, refused: 2, other: 1 });
  });

  it("are not counted in a log that was rotated meanwhile", async () => {
    const log = path.join(dir, "rotated.log");
    await writeFile(log, "");
    await expect(evictionsSince(log, 100)).rejects.toThrow("rotated");
  });
});

describe("a measured process", () => {
  it("is measured from outside", async () => {
    const program =
      "let x = 0; const end = Date.now() + 700; while (Date.now() < end) x += 1; process.stdout.write('ok')";
    const measured = await runMeasured(process.execPath, ["-e", program], {
      signal: new AbortController().signal,
    });
    expect(measured.stdout).toBe("ok");
    expect(measured.seconds).toBeGreaterThan(0.7);
    expect(measured.machineBusy).toBeGreaterThan(0);
  });

  it("that fails is an error with its last words", async () => {
    const program = "process.stderr.write('no pods here'); process.exit(3)";
    const run = runMeasured(process.execPath, ["-e", program], { signal: new AbortController().signal });
    await expect(run).rejects.toThrow(/ended with 3\nno pods here/u);
  });
});

describe("the cluster on paper", () => {
  it("is one that a drain can leave", () => {
    const inventory = fleet(10, 200);
    const names = inventory.nodes.map(({ name }) => name);
    const settings = { maxNodesAtOnce: 10, readySeconds: 6, terminationSeconds: 1 };
    const forecast = forecastDrain(inventory, names, settings);
    expect(forecast.evictions).toHaveLength(200);
    // 20 pods, 2 at a time, 6 s each.
    expect(forecast.expectedSeconds).toBe(60);
  });
});

describe("the command line", () => {
  const bench = (...args: string[]): Promise<{ code: unknown; stderr: string }> =>
    new Promise((resolve) => {
      execFile(process.execPath, [path.resolve("bench/main.ts"), ...args], (error, _stdout, stderr) => {
        resolve({ code: error?.code ?? 0, stderr });
      });
    });

  it.each([
    [["--only", "drian"], "there is no bench drian: drain, forecast, preview, drain-200"],
    [["--pods", "30"], "a multiple of 20"],
    [["--pairs", "0"], "--pairs 0: a whole number from 1"],
    [["--lonely"], "Unknown option '--lonely'"],
  ])("refuses %j", async (args, message) => {
    const { code, stderr } = await bench(...args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
