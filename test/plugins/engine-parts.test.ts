import { afterEach, expect, test, vi } from "vitest";
import { engineEnvironment, logLines, ok, operations } from "../../lab/engine/index.ts";
import { parseEvents } from "../../lab/engine/events.ts";

const options = { pulumiHome: "/h", backendDir: "/state dir", passphrase: "p" };

afterEach(() => {
  vi.unstubAllEnvs();
});

test("the engine's environment has nothing of the user's Pulumi in it", () => {
  vi.stubEnv("PULUMI_ACCESS_TOKEN", "theirs");
  vi.stubEnv("PULUMI_BACKEND_URL", "https://api.example.test");
  vi.stubEnv("PULUMI_EXPERIMENTAL", "true");
  const env = engineEnvironment(options, false);
  expect(
    Object.keys(env)
      .filter((name) => name.startsWith("PULUMI_"))
      .sort(),
  ).toEqual([
    "PULUMI_BACKEND_URL",
    "PULUMI_CONFIG_PASSPHRASE",
    "PULUMI_DEBUG_COMMANDS",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
    "PULUMI_HOME",
    "PULUMI_SKIP_UPDATE_CHECK",
  ]);
  expect(env["PULUMI_BACKEND_URL"]).toBe("file:///state%20dir");
});

test("only plans get the experimental switch, and the caller has the last word", () => {
  expect(engineEnvironment(options, true)["PULUMI_EXPERIMENTAL"]).toBe("true");
  expect(engineEnvironment({ ...options, env: { PATH: "/x", MINE: "1" } }, false)).toMatchObject({
    PATH: "/x",
    MINE: "1",
  });
});

test("an event log that was cut short is read as far as it goes", () => {
  const step = (urn: string, op: string): string =>
    JSON.stringify({ resourcePreEvent: { metadata: { op, urn, type: "t" } } });
  const line = JSON.stringify({ diagnosticEvent: { urn: "u::a", severity: "info", message: "hello\n" } });
  const events = parseEvents(`${step("u::a", "create")}\n${line}\n${step("u::a", "delete")}\n{"resourcePre`);
  expect(operations(events)).toEqual(new Map([["a", ["create", "delete"]]]));
  expect(logLines(events, "::a")).toEqual(["hello"]);
  expect(logLines(events, "::b")).toEqual([]);
});

test("ok passes success through and shows all of a failure", () => {
  const result = {
    command: "pulumi up",
    signal: undefined,
    stdout: "OUT",
    stderr: "ERR",
    events: [],
    milliseconds: 1,
  };
  expect(ok({ ...result, code: 0 }).code).toBe(0);
  expect(() => ok({ ...result, code: 255 })).toThrow("pulumi up failed (exit 255)\nOUT\nERR");
  expect(() => ok({ ...result, code: null, signal: "SIGKILL" })).toThrow("was ended by SIGKILL");
});
