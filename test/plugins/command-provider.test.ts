/** The `command` stand-in as a process of its own, spoken to as the engine speaks to it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import providerRpc from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import providerPb from "@pulumi/pulumi/proto/provider_pb.js";
import { describe, expect, test, vi } from "vitest";
import { channelOptions, empty, fromStruct, toStruct } from "../../lab/plugins/shared/rpc.ts";
import { secretSignature, signatureKey, unknownString } from "../../lab/plugins/command/values.ts";
import { sdkVersion } from "../../lab/plugins/shared/sdk-versions.ts";
import {
  mark,
  call,
  processesWith,
  recordingEngine,
  root,
  startPlugin,
  temporaryFolder,
  until,
} from "./support.ts";

// Real processes, on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });

const service = providerRpc.ResourceProviderService;
const urn = "urn:pulumi:dev::probe::command:local:Command::it";
const secret = (value: unknown): Record<string, unknown> => ({ [signatureKey]: secretSignature, value });
type Values = Record<string, unknown>;

async function start() {
  const engine = await recordingEngine();
  const plugin = await startPlugin("command/main.ts", engine.address);
  const client = new grpc.Client(plugin.address, grpc.credentials.createInsecure(), channelOptions);
  return {
    engine,
    plugin,
    client,
    create: async (inputs: Values, options: { preview?: boolean; timeout?: number; urn?: string } = {}) => {
      const request = new providerPb.CreateRequest();
      request.setUrn(options.urn ?? urn);
      request.setProperties(toStruct(inputs));
      request.setPreview(options.preview ?? false);
      request.setTimeout(options.timeout ?? 0);
      const response = await call(client, service.create, request);
      return { id: response.getId(), outputs: fromStruct(response.getProperties()) };
    },
    update: async (state: Values, inputs: Values, options: { preview?: boolean; ignore?: string[] } = {}) => {
      const request = new providerPb.UpdateRequest();
      request.setUrn(urn);
      request.setOlds(toStruct(state));
      request.setNews(toStruct(inputs));
      request.setPreview(options.preview ?? false);
      request.setIgnorechangesList(options.ignore ?? []);
      return fromStruct((await call(client, service.update, request)).getProperties());
    },
    remove: async (state: Values) => {
      const request = new providerPb.DeleteRequest();
      request.setUrn(urn);
      request.setProperties(toStruct(state));
      await call(client, service.delete, request);
    },
    cancel: () => call(client, service.cancel, empty()),
  };
}

describe("create", () => {
  test("gives trimmed output, an id after the name, and streams lines as they come", async () => {
    const { create, engine } = await start();
    const { id, outputs } = await create({ create: "echo one; sleep 0.4; echo two >&2; printf '\\n\\n'" });
    expect(id).toMatch(/^it[0-9a-f]{8}$/);
    expect(outputs).toMatchObject({ stdout: "one\n\n", stderr: "two" });
    const [one, two] = engine.log.filter((l) => l.message !== "" && l.urn === urn);
    expect([one?.message, two?.message]).toEqual(["one", "two"]);
    expect(one?.ephemeral).toBe(true);
    expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThan(250);
  });

  test("passes stdin, environment, interpreter and folder", async () => {
    const { create } = await start();
    const dir = temporaryFolder();
    const { outputs } = await create({
      create: "process.stdin.pipe(process.stdout); console.error(process.env.WHO, process.cwd())",
      interpreter: [process.execPath, "-e"],
      stdin: "in",
      environment: { WHO: "me" },
      dir,
    });
    expect(outputs).toMatchObject({ stdout: "in", stderr: `me ${dir}` });
  });

  test.each([
    ["stdout", ["out"]],
    ["stderr", ["err"]],
    ["stdoutAndStderr", ["out", "err"]],
    ["none", []],
  ])("logging %s", async (logging, expected) => {
    const { create, engine } = await start();
    const { outputs } = await create({ create: "echo out; sleep 0.1; echo err >&2", logging });
    expect(outputs).toMatchObject({ stdout: "out", stderr: "err" });
    expect(engine.log.filter((l) => l.urn === urn).map((l) => l.message)).toEqual(expected);
  });

  test("fails with the exit status, the command and all of its output", async () => {
    const { create } = await start();
    const failing = create({ create: "seq 1 5000; echo why >&2; exit 3", logging: "none" });
    const error = (await failing.catch((e: unknown) => e)) as grpc.ServiceError;
    expect(error.code).toBe(grpc.status.UNKNOWN);
    const { details } = error;
    expect(details).toMatch(/^exit status 3: running "seq 1 5000; echo why >&2; exit 3":\n1\n2\n/);
    expect(details).toContain("\n5000\n");
    expect(details).toContain("why\n");
  });

  test("says what is wrong with folder or interpreter", async () => {
    const { create } = await start();
    await expect(create({ create: "true", dir: "/no/such" })).rejects.toThrow("chdir /no/such: no such file");
    await expect(create({ create: "true", interpreter: ["nosuchprogram"] })).rejects.toThrow(
      'exec: "nosuchprogram": executable file not found in $PATH',
    );
  });

  test("runs nothing at preview, where the outputs are unknown", async () => {
    const { create } = await start();
    const file = join(temporaryFolder(), "made");
    const { outputs } = await create({ create: `touch ${file}` }, { preview: true });
    expect(outputs).toMatchObject({ stdout: unknownString, stderr: unknownString });
    expect(existsSync(file)).toBe(false);
  });

  test("keeps secret inputs marked in the outputs, and reveals them to the command alone", async () => {
    const { create } = await start();
    const { outputs } = await create({
      create: 'test "$(cat)" = hush && test "$KEY" = psst && echo ok',
      stdin: secret("hush"),
      environment: secret({ KEY: secret("psst") }),
    });
    expect(outputs["stdin"]).toEqual(secret("hush"));
    expect(outputs["environment"]).toEqual(secret({ KEY: secret("psst") }));
    expect(outputs["stdout"]).toBe("ok");
  });

  test("returns assets and archive by glob", async () => {
    const { create } = await start();
    const dir = temporaryFolder();
    const { outputs } = await create({
      create: "echo a > a.txt; echo b > b.log",
      dir,
      assetPaths: ["*.txt"],
      archivePaths: ["**", "!*.txt"],
    });
    expect(outputs["assets"]).toMatchObject({ "a.txt": { path: join(dir, "a.txt") } });
    expect(outputs["archive"]).toMatchObject({ assets: { "b.log": { path: join(dir, "b.log") } } });
  });

  test("ends a command whose time is up", async () => {
    const { create } = await start();
    const time = mark();
    await expect(create({ create: `sleep ${time}; echo` }, { timeout: 0.3 })).rejects.toThrow(
      "signal: terminated",
    );
    expect(processesWith(`sleep ${time}`)).toEqual([]);
  });

  test("refuses the resources it does not have", async () => {
    const { create } = await start();
    await expect(create({}, { urn: "urn:pulumi:dev::probe::command:remote:Command::it" })).rejects.toThrow(
      /command:remote:Command: .*stand-in/,
    );
  });
});

describe("update", () => {
  test("runs update, or create where there is none", async () => {
    const { update } = await start();
    const state = { create: "echo c", stdout: "old", stderr: "" };
    expect(await update(state, { create: "echo c2" })).toMatchObject({ stdout: "c2" });
    expect(await update(state, { create: "echo c2", update: "echo u" })).toMatchObject({ stdout: "u" });
    expect(await update(state, { delete: "echo d" })).toMatchObject({ stdout: "old" });
  });

  test("gives the previous output to the command, unless told not to", async () => {
    const { update } = await start();
    const state = { stdout: "before", stderr: "trouble" };
    const create = 'echo "[$PULUMI_COMMAND_STDOUT] [$PULUMI_COMMAND_STDERR]"';
    expect(await update(state, { create })).toMatchObject({ stdout: "[before] [trouble]" });
    expect(await update(state, { create, addPreviousOutputInEnv: false })).toMatchObject({ stdout: "[] []" });
  });

  test("at preview, the outputs are unknown when an input changed and known when none did", async () => {
    const { update } = await start();
    const state = { create: "a", stdout: "old", stderr: "" };
    expect(await update(state, { create: "b" }, { preview: true })).toMatchObject({ stdout: unknownString });
    expect(await update(state, { create: "a" }, { preview: true })).toMatchObject({ stdout: "old" });
  });

  test("keeps what ignoreChanges names", async () => {
    const { update } = await start();
    const state = { create: "echo old", stdout: "", stderr: "" };
    expect(await update(state, { create: "echo new" }, { ignore: ["create"] })).toMatchObject({
      create: "echo old",
      stdout: "old",
    });
  });
});

test("delete runs `delete` with the previous output, and nothing when there is none", async () => {
  const { remove } = await start();
  const file = join(temporaryFolder(), "gone");
  await remove({ create: "exit 1", stdout: "x", stderr: "" });
  await remove({ delete: `printf %s "$PULUMI_COMMAND_STDOUT" > ${file}`, stdout: "the id", stderr: "" });
  expect(readFileSync(file, "utf8")).toBe("the id");
  await expect(remove({ delete: "echo no; exit 9", stdout: "", stderr: "" })).rejects.toThrow(
    "exit status 9",
  );
});

test("check answers with failures, diff with the old inputs against the new ones", async () => {
  const { client } = await start();
  const check = new providerPb.CheckRequest();
  check.setUrn(urn);
  check.setNews(toStruct({ creat: "x", stdin: null }));
  const checked = await call(client, service.check, check);
  expect(checked.getFailuresList().map((f) => f.getProperty())).toEqual(["creat"]);
  expect(fromStruct(checked.getInputs())).toEqual({ creat: "x" });

  const request = new providerPb.DiffRequest();
  request.setOldInputs(toStruct({ create: "a", triggers: [1] }));
  request.setOlds(toStruct({ create: "a", triggers: [1], stdout: "s" }));
  request.setNews(toStruct({ create: "b" }));
  const response = await call(client, service.diff, request);
  expect(response.getChanges()).toBe(providerPb.DiffResponse.DiffChanges.DIFF_SOME);
  expect(response.getReplacesList()).toEqual(["triggers"]);
  expect(response.getDiffsList().sort()).toEqual(["create", "triggers"]);

  request.setIgnorechangesList(["create", "triggers"]);
  const ignored = await call(client, service.diff, request);
  expect(ignored.getChanges()).toBe(providerPb.DiffResponse.DiffChanges.DIFF_NONE);
});

test("the function runs a command and refuses one that is missing", async () => {
  const { client } = await start();
  const request = new providerPb.InvokeRequest();
  request.setTok("command:local:run");
  request.setArgs(toStruct({ command: "cat", stdin: "x" }));
  expect(fromStruct((await call(client, service.invoke, request)).getReturn())).toMatchObject({
    stdout: "x",
  });
  request.setArgs(toStruct({}));
  const failures = (await call(client, service.invoke, request)).getFailuresList();
  expect(failures.map((f) => f.getProperty())).toEqual(["command"]);
});

test("it never passes for the official provider", async () => {
  const { client } = await start();
  const info = await call(client, service.getPluginInfo, empty());
  expect(info.getVersion()).toBe(`${sdkVersion("@pulumi/command", root)}+stand-in`);
  const schema = await call(client, service.getSchema, new providerPb.GetSchemaRequest());
  expect(schema.getSchema()).toContain("stand-in");
});

describe("the end", () => {
  /** A command with a child of its own, both deaf to SIGTERM. */
  const deaf = (time: string): string =>
    `trap '' TERM; echo up; (trap '' TERM; sleep ${time}; :) & sleep ${time}; wait`;

  test("Cancel ends the command's whole group, and all that comes after", async () => {
    const { create, cancel } = await start();
    const time = mark();
    const failing = create({ create: deaf(time) }).then(
      () => "ended well",
      (error: unknown) => String(error),
    );
    await until("the command runs", () => processesWith(`sleep ${time}`).length >= 2);
    await cancel();
    expect(await failing).toContain("signal: killed");
    expect(processesWith(`sleep ${time}`)).toEqual([]);
    await expect(create({ create: "true" })).rejects.toThrow("cancelled before it was started");
  });

  test("SIGINT, by which the engine closes a plugin, leaves nothing", async () => {
    const { create, plugin } = await start();
    const time = mark();
    create({ create: deaf(time) }).catch(() => undefined);
    await until("the command runs", () => processesWith(`sleep ${time}`).length >= 2);
    plugin.process.kill("SIGINT");
    expect(await plugin.exited).toBe(0);
    expect(processesWith(`sleep ${time}`)).toEqual([]);
  });

  test("an engine that dies takes the provider and its commands along", async () => {
    const { create, engine, plugin } = await start();
    const time = mark();
    create({ create: deaf(time) }).catch(() => undefined);
    await until("the command runs", () => processesWith(`sleep ${time}`).length >= 2);
    engine.die();
    expect(await plugin.exited).toBe(1);
    expect(processesWith(`sleep ${time}`)).toEqual([]);
  });

  test("a provider that is killed takes its commands along", async () => {
    const { create, plugin } = await start();
    const time = mark();
    const file = join(temporaryFolder(), "script");
    writeFileSync(file, deaf(time));
    create({ create: `. ${file}` }).catch(() => undefined);
    await until("the command runs", () => processesWith(`sleep ${time}`).length >= 2);
    plugin.process.kill("SIGKILL");
    await until("nothing is left", () => processesWith(`sleep ${time}`).length === 0, 6_000);
  });
});
