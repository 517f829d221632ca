/** Both stand-ins under the real engine: a small project with a file backend, driven by lab/engine. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Engine, logLines, ok, operations } from "../../lab/engine/index.ts";
import { ensure } from "../../toolchain/index.ts";
import { mark, processesUnder, processesWith, root, temporaryFolder, until } from "./support.ts";

const minute = 60_000;
const pulumi = (await ensure(["pulumi"])).get("pulumi")?.path ?? "";

interface Project {
  readonly dir: string;
  readonly engine: Engine;
  readonly backend: string;
}

/** A stack of a program of one file, in folders of its own. Config is namespaced `probe`. */
async function project(program: string, files: Readonly<Record<string, string>> = {}): Promise<Project> {
  const dir = temporaryFolder();
  const all = {
    "Pulumi.yaml": "name: probe\nruntime: {name: nodejs, options: {typescript: false}}\nmain: index.ts\n",
    "package.json": '{"name":"probe","version":"1.0.0","type":"module"}',
    "index.ts": `import * as pulumi from "@pulumi/pulumi";
import { local } from "@pulumi/command";
const config = new pulumi.Config();
${program}`,
    ...files,
  };
  for (const [path, text] of Object.entries(all)) {
    mkdirSync(join(dir, path, ".."), { recursive: true });
    writeFileSync(join(dir, path), text);
  }
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  const backend = join(dir, "state");
  const engine = await Engine.open({
    projectDir: dir,
    pulumiHome: join(dir, "home"),
    backendDir: backend,
    stack: "dev",
    passphrase: "of the test",
    pulumi,
    // These tests are about the stand-ins, whatever else this machine has.
    userHome: join(dir, "nobody"),
  });
  ok(await engine.initStack());
  return { dir, engine, backend };
}

describe("a Command's life", () => {
  test(
    "preview, up, no change, update, replace by trigger, delete",
    async () => {
      const journal = join(temporaryFolder(), "journal");
      const { engine, dir } = await project(`
const text: string = config.require("text");
const args = { triggers: [config.require("trigger")], stdin: text };
new local.Command("both", { ...args, create: "echo both-create >> ${journal}", update: "echo both-update >> ${journal}",
  delete: "echo both-delete >> ${journal}" });
const one = new local.Command("one", { ...args, create: 'echo one-create; echo "one-create [$PULUMI_COMMAND_STDOUT]" >> ${journal}' });
export const out = one.stdout;`);
      const ran = (): string[] =>
        existsSync(journal) ? readFileSync(journal, "utf8").trim().split("\n").sort() : [];
      ok(await engine.setConfig("text", "a"));
      ok(await engine.setConfig("trigger", "1"));

      const preview = ok(await engine.preview());
      expect(operations(preview.events).get("both")).toEqual(["create"]);
      expect(preview.stdout).not.toMatch(/warning/i);
      expect(ran()).toEqual([]);

      const up = ok(await engine.up());
      expect(ran()).toEqual(["both-create", "one-create []"]);
      expect(logLines(up.events, "::one")).toContain("one-create");
      expect(await engine.outputs()).toEqual({ out: "one-create" });

      const again = ok(await engine.up());
      expect(operations(again.events).get("one")).toEqual(["same"]);
      expect(ran()).toHaveLength(2);

      ok(await engine.setConfig("text", "b"));
      const updated = ok(await engine.up());
      expect(operations(updated.events).get("both")).toEqual(["update"]);
      expect(ran()).toEqual(["both-create", "both-update", "one-create []", "one-create [one-create]"]);

      ok(await engine.setConfig("trigger", "2"));
      const replaced = ok(await engine.up());
      expect(operations(replaced.events).get("both")).toEqual([
        "create-replacement",
        "replace",
        "delete-replaced",
      ]);
      expect(ran().filter((line) => line.startsWith("both"))).toEqual([
        "both-create",
        "both-create",
        "both-delete",
        "both-update",
      ]);

      ok(await engine.destroy());
      expect(ran().filter((line) => line === "both-delete")).toHaveLength(2);
      expect((await engine.exportState()).deployment.resources ?? []).toEqual([]);
      expect(processesUnder(dir)).toEqual([]);
    },
    2 * minute,
  );

  test(
    "a failing command fails the update with its status and output, however long, and is run again",
    async () => {
      const { engine } = await project(`
new local.Command("it", { create: config.get("fixed") ? "echo fine" : "seq 1 200000; echo why >&2; exit 3", logging: "none" });`);
      const failed = await engine.up();
      expect(failed.code).not.toBe(0);
      expect(failed.stdout).toContain('error: exit status 3: running "seq 1 200000; echo why >&2; exit 3"');
      expect(failed.stdout).toContain("    200000\n");
      expect(failed.stdout).toContain("    why\n");
      ok(await engine.setConfig("fixed", "1"));
      expect(operations(ok(await engine.up()).events).get("it")).toEqual(["create"]);
    },
    2 * minute,
  );

  test(
    "a bad input is refused at preview with its name",
    async () => {
      const { engine } = await project(`
new local.Command("it", { create: "true", environmant: { A: "1" }, dir: 5 } as never);`);
      const preview = await engine.preview();
      expect(preview.code).not.toBe(0);
      expect(preview.stdout).toContain("Field 'dir' on 'local.CommandInputs' must be a 'string'");
    },
    minute,
  );

  test(
    "a secret stays out of log, events and state",
    async () => {
      const secret = "hush-98431-hush";
      const { engine, dir, backend } = await project(`
const key = config.requireSecret("key");
new local.Command("it", { create: 'test "$(cat)" = "$KEY" && echo matched', stdin: key, environment: { KEY: key } });
export const shown = key;`);
      ok(await engine.setConfig("key", secret, "secret"));
      const runs = [
        await engine.preview({ diff: true }),
        await engine.up(),
        await engine.preview({ json: true }),
      ];
      for (const run of runs) {
        expect(run.code).toBe(0);
        expect(run.stdout + run.stderr + JSON.stringify(run.events)).not.toContain(secret);
      }
      expect(logLines(runs[1]?.events ?? [], "::it")).toContain("matched");
      const state = await engine.exportState();
      const it = state.deployment.resources?.find((r) => r.urn.endsWith("::it"));
      expect(JSON.stringify(it)).toContain("ciphertext");
      expect(JSON.stringify(state)).not.toContain(secret);
      expect(readFileSync(join(dir, "Pulumi.dev.yaml"), "utf8")).not.toContain(secret);
      expect(readFileSync(join(backend, ".pulumi/stacks/probe/dev.json"), "utf8")).not.toContain(secret);
      expect(await engine.outputs()).toEqual({ shown: "[secret]" });
      expect(await engine.outputs(true)).toEqual({ shown: secret });
    },
    2 * minute,
  );
});

test(
  "with a config file of its own, the project's folder stays as it was",
  async () => {
    const { dir, engine: first } = await project(
      'new local.Command("it", { create: "echo " + config.require("x") });',
    );
    const configFile = join(dir, "elsewhere.yaml");
    const engine = await Engine.open({
      ...first.options,
      stack: "other",
      pulumiHome: join(dir, "home"),
      configFile,
    });
    ok(await engine.initStack());
    ok(await engine.setConfig("x", "1", "secret"));
    ok(await engine.up());
    ok(await engine.initStack());
    expect(operations(ok(await engine.up()).events).get("it")).toEqual(["same"]);
    expect(existsSync(join(dir, "Pulumi.other.yaml"))).toBe(false);
    expect(readFileSync(configFile, "utf8")).toContain("encryptionsalt");
  },
  2 * minute,
);

describe("interruption", () => {
  const sleeper = (time: string): string => `
new local.Command("it", { create: config.get("quick") ? "echo quick" : "echo up; (sleep ${time}; :) & sleep ${time}; wait" });
export const done = "yes";`;

  test(
    "Ctrl-C ends the command's whole group and releases the stack",
    async () => {
      const time = mark();
      const { engine, dir } = await project(sleeper(time));
      const run = engine.startUp();
      await until("the command runs", () => processesWith(`sleep ${time}`).length >= 2, minute);
      run.kill("SIGINT");
      const result = await run.result;
      expect(result.code).not.toBe(0);
      expect(processesWith(`sleep ${time}`)).toEqual([]);
      await until("no process is left", () => processesUnder(dir).length === 0, 5_000);
      ok(await engine.setConfig("quick", "1"));
      ok(await engine.up());
    },
    2 * minute,
  );

  test(
    "kill -9 of pulumi leaves no process, and cancel and up go on",
    async () => {
      const time = mark();
      const { engine, dir } = await project(sleeper(time));
      const run = engine.startUp();
      await until("the command runs", () => processesWith(`sleep ${time}`).length >= 2, minute);
      run.kill("SIGKILL");
      expect((await run.result).signal).toBe("SIGKILL");
      await until("no process is left", () => processesUnder(dir).length === 0, 8_000);

      ok(await engine.setConfig("quick", "1"));
      ok(await engine.preview());
      const locked = await engine.up();
      expect(locked.code).not.toBe(0);
      expect(locked.stderr).toContain("the stack is currently locked by 1 lock(s)");
      ok(await engine.cancel());
      const resumed = ok(await engine.up());
      expect(resumed.stdout).toContain("interrupted while creating");
      ok(await engine.refresh(["--clear-pending-creates"]));
      expect(ok(await engine.up()).stdout).not.toContain("interrupted while creating");
    },
    2 * minute,
  );
});

describe("the language host", () => {
  const pack = {
    "pack/PulumiPolicy.yaml": "runtime: {name: nodejs, options: {typescript: false}}\nmain: pack.cjs\n",
    "pack/package.json": '{"name":"pack","version":"1.0.0","main":"pack.cjs"}',
    "pack/pack.cjs": 'require("./pack.mts");',
    "pack/pack.mts": `
import { PolicyPack } from "@pulumi/policy";
const forbidden: string = "rm -rf";
new PolicyPack("pack", { policies: [{ name: "no-rm", description: "no rm", enforcementLevel: "mandatory",
  validateResource: (args, report) => { if (String(args.props["create"]).includes(forbidden)) report("found rm -rf"); } }] });`,
  };

  test(
    "runs a policy pack, whose mandatory violation fails the preview",
    async () => {
      const { engine, dir } = await project(
        'new local.Command("it", { create: config.require("create") });',
        pack,
      );
      const policyPacks = [join(dir, "pack")];
      ok(await engine.setConfig("create", "true"));
      ok(await engine.preview({ policyPacks }));
      ok(await engine.setConfig("create", "rm -rf /nowhere"));
      const preview = await engine.preview({ policyPacks });
      expect(preview.code).not.toBe(0);
      expect(preview.stdout).toContain("found rm -rf");
      const violation = preview.events.find((event) => event.policyEvent !== undefined)?.policyEvent;
      expect(violation).toMatchObject({ policyName: "no-rm", enforcementLevel: "mandatory" });
      expect((await engine.up({ policyPacks })).code).not.toBe(0);
      await until("no process is left", () => processesUnder(dir).length === 0, 5_000);
    },
    2 * minute,
  );

  test(
    "shows a RunError as one message and nothing else, and other errors with their place",
    async () => {
      const { engine } = await project(`
if (config.get("plain")) throw new Error("plain trouble");
throw new pulumi.RunError("two problems\\n  one\\n  two");`);
      const refused = await engine.preview();
      expect(refused.code).not.toBe(0);
      expect(refused.stdout).toContain("    error: two problems\n      one\n      two\n");
      expect(refused.stdout).not.toContain("unhandled");
      ok(await engine.setConfig("plain", "1"));
      expect((await engine.preview()).stdout).toMatch(/unhandled exception:\n.*plain trouble/);
    },
    minute,
  );

  test(
    "a program that ends with a status of its own is an error that names it",
    async () => {
      const { engine } = await project("process.exit(7);");
      const preview = await engine.preview();
      expect(preview.code).not.toBe(0);
      expect(preview.stdout).toContain("Program exited with non-zero exit code: 7");
    },
    minute,
  );

  test(
    "an update bound to a plan refuses a program that has changed since",
    async () => {
      const { engine, dir } = await project('new local.Command("it", { create: config.require("create") });');
      ok(await engine.setConfig("create", "echo planned"));
      const plan = join(dir, "plan.json");
      ok(await engine.preview({ savePlan: plan }));
      ok(await engine.setConfig("create", "echo changed"));
      const refused = await engine.up({ plan });
      expect(refused.code).not.toBe(0);
      expect(refused.stdout).toMatch(/violates plan/);
      ok(await engine.setConfig("create", "echo planned"));
      ok(await engine.up({ plan }));
    },
    2 * minute,
  );
});

test(
  "a stack reads its own last outputs at preview; they move only with the check they depend on",
  async () => {
    const { engine } = await project(`
const stage: string = config.require("stage");
const self = new pulumi.StackReference(\`organization/\${pulumi.getProject()}/\${pulumi.getStack()}\`);
const last = (await self.getOutputDetails("stage")).value ?? "none";
process.stdout.write("last=" + String(last) + "\\n");
const check = new local.Command("check", { create: config.get("fail") ? "exit 1" : "echo " + stage });
const result = { stage: check.stdout.apply(() => stage) };
export { result };
export const { stage: reached } = result;
export { reached as stage };`);
    ok(await engine.setConfig("stage", "first"));
    expect(ok(await engine.preview()).stdout).toContain("last=none");
    ok(await engine.up());
    ok(await engine.setConfig("stage", "second"));
    ok(await engine.setConfig("fail", "1"));
    expect((await engine.up()).code).not.toBe(0);
    expect((await engine.outputs())["stage"]).toBe("first");
    expect(ok(await engine.preview()).stdout).toContain("last=first");
    ok(await engine.removeConfig("fail"));
    ok(await engine.up());
    expect((await engine.outputs())["stage"]).toBe("second");
  },
  2 * minute,
);
