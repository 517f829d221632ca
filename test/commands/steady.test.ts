import { describe, expect, it } from "vitest";
import type { Finding, Severity } from "../../analysis/finding.ts";
import { ApiError, UnreachableError } from "../../cluster/api.ts";
import { Interrupted } from "../../commands/context.ts";
import { holdsSteadily } from "../../commands/steady.ts";
import { withCleanup } from "../cluster/cleanup.ts";
import { testContext, untouchable } from "./context.ts";

withCleanup();

const finding = (severity: Severity, subject = "x"): Finding => ({
  code: "X",
  severity,
  subject,
  message: "is not there yet",
  rule: "r",
  repair: "p",
});
const hold = [finding("hold")];
const fast = { successes: 3, intervalSeconds: 0.001, timeoutSeconds: 20 };

/** Sees these, one a look; the last one for ever. */
function seeing(looks: readonly (readonly Finding[] | Error)[]) {
  let index = 0;
  return () => {
    const seen = looks[Math.min(index, looks.length - 1)] ?? [];
    index += 1;
    return seen instanceof Error ? Promise.reject(seen) : Promise.resolve(seen);
  };
}

describe("a condition", () => {
  it("is believed after so many times in a row", async () => {
    expect(await holdsSteadily(testContext(untouchable), fast, seeing([[]]))).toEqual({
      findings: [],
      looks: 3,
    });
  });

  it("is counted anew after each time that it did not hold", async () => {
    const result = await holdsSteadily(
      testContext(untouchable),
      fast,
      seeing([[], [], hold, [], [], hold, []]),
    );
    expect(result).toEqual({ findings: [], looks: 9 });
  });

  it("holds with a warning", async () => {
    const result = await holdsSteadily(testContext(untouchable), fast, seeing([[finding("warn")]]));
    expect(result.findings).toEqual([]);
  });

  it("ends the waiting at once when time will not mend it", async () => {
    const refuse = [finding("refuse"), ...hold];
    expect(await holdsSteadily(testContext(untouchable), fast, seeing([hold, refuse]))).toEqual({
      findings: refuse,
      looks: 2,
    });
  });

  it("is given up at the time limit, with the last reasons", async () => {
    const context = testContext(untouchable);
    const spec = { ...fast, timeoutSeconds: 0.05 };
    const result = await holdsSteadily(context, spec, seeing([hold]));
    expect(result.findings).toEqual(hold);
    expect(result.looks).toBeGreaterThan(1);
  });

  it("tells people each reason once", async () => {
    const context = testContext(untouchable);
    const other = [finding("hold", "y")];
    await holdsSteadily(context, fast, seeing([hold, hold, hold, other, other, []]));
    expect(context.lines).toEqual(["waiting: x: is not there yet", "waiting: y: is not there yet"]);
  });

  it("waits for an API server that is away", async () => {
    const away = new UnreachableError("https://x", new Error("ECONNREFUSED"));
    const result = await holdsSteadily(testContext(untouchable), fast, seeing([[], away, away, []]));
    expect(result).toEqual({ findings: [], looks: 6 });
  });

  it.each([500, 503, 429])("waits for an API server that answers %i while it starts", async (status) => {
    const starting = new ApiError("GET", "/readyz", status, "[-]etcd failed");
    const result = await holdsSteadily(testContext(untouchable), fast, seeing([starting, []]));
    expect(result.findings).toEqual([]);
  });

  it("does not wait for what is no answer to wait for", async () => {
    const bug = new TypeError("bug");
    await expect(holdsSteadily(testContext(untouchable), fast, seeing([bug]))).rejects.toBe(bug);
    const gone = new ApiError("GET", "/x", 404, {});
    await expect(holdsSteadily(testContext(untouchable), fast, seeing([gone]))).rejects.toBe(gone);
  });

  it("stops waiting when it is told to", async () => {
    const context = testContext(untouchable);
    const waiting = holdsSteadily(context, { ...fast, intervalSeconds: 60 }, seeing([hold]));
    setTimeout(() => {
      context.stop("stopped by SIGINT");
    }, 20);
    await expect(waiting).rejects.toBeInstanceOf(Interrupted);
  });
});
