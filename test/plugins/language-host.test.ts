/** The nodejs language host stand-in: its parts, and itself as a process spoken to as the engine speaks to it. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import languageRpc from "@pulumi/pulumi/proto/language_grpc_pb.js";
import languagePb from "@pulumi/pulumi/proto/language_pb.js";
import analyzerRpc from "@pulumi/pulumi/proto/analyzer_grpc_pb.js";
import analyzerPb from "@pulumi/pulumi/proto/analyzer_pb.js";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { parseOptions, splitWords } from "../../lab/plugins/language-nodejs/options.ts";
import { dependencies, requiredPlugins } from "../../lab/plugins/language-nodejs/packages.ts";
import { programConfig } from "../../lab/plugins/language-nodejs/run-program.ts";
import { channelOptions, empty, engineAddressFrom, toStruct } from "../../lab/plugins/shared/rpc.ts";
import {
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

const service = languageRpc.LanguageRuntimeService;

describe("options", () => {
  test("have the official defaults", () => {
    expect(parseOptions({})).toEqual({
      typescript: true,
      tsconfig: undefined,
      nodeargs: [],
      packagemanager: "auto",
      production: false,
    });
  });

  test("of the wrong type are named", () => {
    expect(() => parseOptions({ typescript: "no" })).toThrow("typescript option must be a boolean");
    expect(() => parseOptions({ nodeargs: 1 })).toThrow("nodeargs option must be a string");
    expect(() => parseOptions({ packagemanager: "cargo" })).toThrow('got "cargo"');
  });

  test("nodeargs are split as a shell splits words", () => {
    expect(splitWords(`--a="b c" 'd  e' f\\ g ''`)).toEqual(["--a=b c", "d  e", "f g", ""]);
    expect(() => splitWords("'x")).toThrow("unclosed '");
    fc.assert(
      fc.property(fc.array(fc.string()), (words) => {
        const line = words.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
        expect(splitWords(line)).toEqual(words);
      }),
    );
  });

  test("config keys get the form that every SDK understands", () => {
    expect(
      programConfig([
        ["p:a", "1"],
        ["p:config:b", "2"],
        ["aws:region", "x"],
        ["p:with:colon", "3"],
      ]),
    ).toEqual({ "p:config:a": "1", "p:config:b": "2", "aws:config:region": "x", "p:config:with:colon": "3" });
  });

  test("the engine's address comes after its flags", () => {
    expect(engineAddressFrom(["--logtostderr", "-v=9", "--tracing", "file:x", "127.0.0.1:1"])).toBe(
      "127.0.0.1:1",
    );
    expect(engineAddressFrom([])).toBeUndefined();
  });
});

describe("required plugins", () => {
  const put = (dir: string, path: string, content: unknown): void => {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), JSON.stringify(content));
  };

  test("come from node_modules at any depth, follow links, and leave policy packs out", () => {
    const dir = temporaryFolder();
    put(dir, "node_modules/@pulumi/command/package.json", {
      name: "@pulumi/command",
      version: "9.9.9",
      pulumi: { resource: true, version: "1.2.1" },
    });
    put(dir, "node_modules/other/package.json", { name: "other", version: "1.0.0" });
    put(dir, "node_modules/other/node_modules/third/package.json", {
      name: "third",
      version: "v2.0.0",
      pulumi: { resource: true, name: "third-party", server: "https://example.test" },
    });
    put(dir, "node_modules/unnamed/package.json", {
      name: "unnamed",
      version: "1.0.0",
      pulumi: { resource: true },
    });
    put(dir, "pack/PulumiPolicy.yaml", {});
    put(dir, "pack/node_modules/@pulumi/aws/package.json", {
      name: "@pulumi/aws",
      version: "7.0.0",
      pulumi: { resource: true },
    });
    put(dir, "sub/node_modules/@pulumi/random/package.json", {
      name: "@pulumi/random",
      version: "4.0.0",
      pulumi: { resource: true },
    });
    symlinkSync(dir, join(dir, "node_modules/loop"));
    expect(requiredPlugins(dir)).toEqual([
      { name: "command", version: "v1.2.1", server: "" },
      { name: "random", version: "v4.0.0", server: "" },
      { name: "third-party", version: "v2.0.0", server: "https://example.test" },
    ]);
  });

  test("of this project are those its SDKs ask for", () => {
    expect(requiredPlugins(root).map((p) => p.name)).toEqual(
      expect.arrayContaining(["command", "kubernetes"]),
    );
    expect(dependencies(root, false).map((d) => d.name)).toContain("@pulumi/pulumi");
    expect(dependencies(root, true).length).toBeGreaterThan(dependencies(root, false).length);
  });
});

async function start() {
  const engine = await recordingEngine();
  const plugin = await startPlugin("language-nodejs/main.ts", engine.address);
  const client = new grpc.Client(plugin.address, grpc.credentials.createInsecure(), channelOptions);
  return { engine, plugin, client };
}

/** A folder from which the project's packages resolve. */
function project(files: Readonly<Record<string, string>>): string {
  const dir = temporaryFolder();
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  return dir;
}

function pluginRequest(dir: string, kind: string, engine: string): languagePb.RunPluginRequest {
  const info = new languagePb.ProgramInfo();
  info.setProgramDirectory(dir);
  info.setRootDirectory(dir);
  info.setEntryPoint(".");
  info.setOptions(toStruct({ typescript: false }));
  const request = new languagePb.RunPluginRequest();
  request.setInfo(info);
  request.setKind(kind);
  request.setPwd(dir);
  request.setArgsList([engine]);
  request.setEnvList(Object.entries(process.env).map(([k, v]) => `${k}=${v ?? ""}`));
  return request;
}

interface Streamed {
  stdout: string;
  stderr: string;
  ended: Promise<grpc.ServiceError | undefined>;
  cancel: () => void;
}

function stream(client: grpc.Client, request: languagePb.RunPluginRequest): Streamed {
  const method = service.runPlugin;
  const flow = client.makeServerStreamRequest(
    method.path,
    method.requestSerialize,
    method.responseDeserialize,
    request,
  );
  const out: Streamed = {
    stdout: "",
    stderr: "",
    ended: new Promise((resolve) => {
      flow.on("error", (error) => {
        resolve(error as grpc.ServiceError);
      });
      flow.on("end", () => {
        resolve(undefined);
      });
    }),
    cancel: () => {
      flow.cancel();
    },
  };
  flow.on("data", (message: languagePb.RunPluginResponse) => {
    out.stdout += Buffer.from(message.getStdout_asU8()).toString();
    out.stderr += Buffer.from(message.getStderr_asU8()).toString();
  });
  return out;
}

describe("RunPlugin", () => {
  const main = { "package.json": '{"name":"thing","version":"1.0.0","main":"index.cjs"}' };

  test("streams both outputs and turns the exit status into an error", async () => {
    const { client, engine } = await start();
    const dir = project({
      ...main,
      "index.cjs": 'console.log("out"); console.error("err"); process.exit(4)',
    });
    const run = stream(client, pluginRequest(dir, "resource", engine.address));
    expect((await run.ended)?.details).toBe("Program exited with non-zero exit code: 4");
    expect(run.stdout).toBe("out\n");
    expect(run.stderr).toBe("err\n");
  });

  test("ends the plugin when the call is cancelled", async () => {
    const { client, engine } = await start();
    const dir = project({ ...main, "index.cjs": 'console.log("up"); setInterval(() => {}, 1000)' });
    const run = stream(client, pluginRequest(dir, "resource", engine.address));
    await until("the plugin runs", () => run.stdout === "up\n");
    run.cancel();
    await run.ended;
    await until("the plugin is gone", () => processesWith(dir).length === 0);
  });

  test("says what to install when the SDK is missing", async () => {
    const { client, engine } = await start();
    const dir = temporaryFolder();
    writeFileSync(join(dir, "package.json"), "{}");
    const run = stream(client, pluginRequest(dir, "resource", engine.address));
    expect((await run.ended)?.details).toContain(`Have you run npm install in ${dir}?`);
  });

  test("starts a policy pack once the stack is known, with the stack in its environment", async () => {
    const { client, engine } = await start();
    const dir = project({
      ...main,
      "index.cjs": `
        const pulumi = require("@pulumi/pulumi");
        process.stderr.write(pulumi.getStack() + " " + new pulumi.Config("shop").require("stage") + "\\n");
        const { PolicyPack } = require("@pulumi/policy");
        new PolicyPack("pack", { policies: [] });`,
    });
    const run = stream(client, pluginRequest(dir, "analyzer", engine.address));
    await until("the host gives a port", () => run.stdout.endsWith("\n"));
    expect(processesWith(dir)).toEqual([]);
    const analyzer = new grpc.Client(`127.0.0.1:${run.stdout.trim()}`, grpc.credentials.createInsecure());
    const configure = new analyzerPb.AnalyzerStackConfigureRequest();
    configure.setStack("prod");
    configure.setProject("shop");
    configure.getConfigMap().set("shop:stage", "drain");
    await call(analyzer, analyzerRpc.AnalyzerService.configureStack, configure);
    await until("the pack has spoken", () => run.stderr === "prod drain\n");
    const info = await call(analyzer, analyzerRpc.AnalyzerService.getAnalyzerInfo, empty());
    expect(info.getName()).toBe("pack");
    run.cancel();
    await until("the pack is gone", () => processesWith(dir).length === 0);
  });

  test("tells the engine when a policy pack does not load", async () => {
    const { client, engine } = await start();
    const dir = project({ ...main, "index.cjs": 'throw new Error("broken pack")' });
    const run = stream(client, pluginRequest(dir, "analyzer", engine.address));
    await until("the host gives a port", () => run.stdout.endsWith("\n"));
    const analyzer = new grpc.Client(`127.0.0.1:${run.stdout.trim()}`, grpc.credentials.createInsecure());
    const configured = call(
      analyzer,
      analyzerRpc.AnalyzerService.configureStack,
      new analyzerPb.AnalyzerStackConfigureRequest(),
    );
    await expect(configured).rejects.toThrow(/Program exited with non-zero exit code: \d+/);
    expect((await run.ended)?.details).toMatch(/non-zero exit code/);
    expect(run.stderr).toContain("broken pack");
  });
});

describe("the end of the host", () => {
  const endless = {
    "package.json": '{"name":"thing","version":"1.0.0","main":"index.cjs"}',
    "index.cjs": 'process.on("SIGTERM", () => {}); console.log("up"); setInterval(() => {}, 1000)',
  };

  type Started = Awaited<ReturnType<typeof start>>;
  const endings: Readonly<Record<string, (s: Started) => unknown>> = {
    Cancel: (s) => call(s.client, service.cancel, empty()),
    SIGINT: (s) => s.plugin.process.kill("SIGINT"),
    "kill -9 of the host": (s) => s.plugin.process.kill("SIGKILL"),
    "the engine's death": (s) => {
      s.engine.die();
    },
  };

  test.each(Object.entries(endings))("%s leaves no child", async (_what, end) => {
    const started = await start();
    const dir = project(endless);
    const run = stream(started.client, pluginRequest(dir, "resource", started.engine.address));
    await until("the child runs", () => run.stdout === "up\n");
    await end(started);
    await until("the child is gone", () => processesWith(dir).length === 0, 8_000);
  });
});

test("About and GetPluginInfo say that this is a stand-in", async () => {
  const { client } = await start();
  const request = new languagePb.AboutRequest();
  request.setInfo(new languagePb.ProgramInfo());
  const about = await call(client, service.about, request);
  expect(about.getExecutable()).toBe(process.execPath);
  expect(about.getMetadataMap().get("languageHost")).toContain("stand-in");
  expect((await call(client, service.getPluginInfo, empty())).getVersion()).toMatch(/\+stand-in$/);
});
