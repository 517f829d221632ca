/** The pack on the real engine: what it refuses, when, and what it never shows. */
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Engine, ok } from "../../lab/engine/index.ts";
import { ensure } from "../../toolchain/index.ts";

const root = join(import.meta.dirname, "../..");
const policyPacks = [join(root, "policies")];

/** Plain in the program where it must be refused, secret where it must pass: the pack itself never shows either. */
const PLAIN = "plain-marker-48213";
const SECRET = "secret-marker-77120";

const PROGRAM = `
import * as pulumi from "@pulumi/pulumi";
import { local } from "@pulumi/command";
const faults = (process.env["FAULTS"] ?? "").split(",");
const has = (fault: string): boolean => faults.includes(fault);
const journal = process.env["JOURNAL"] ?? "";
const document = (command: string, more: object = {}) => JSON.stringify({
  command, stack: "s", plan: "upgrade", stage: "canary", irreversible: false, history: false,
  cluster: { kubeconfig: "k", context: "c" }, bound: { clusterUid: null, nodes: {} }, out: "out", spec: {}, ...more });
const run = (name: string): string => "echo " + name + " >> " + journal;
class Step extends pulumi.ComponentResource {
  constructor(name: string, opts: pulumi.ComponentResourceOptions) { super("app:index:Step", name, {}, opts); this.registerOutputs({}); }
}

const first = new local.Command("first", { create: run("first") });
const token = new pulumi.Config().requireSecret("token");
new local.Command("signed", { create: run("signed"), logging: "none", environment: { API_TOKEN: token }, stdin: pulumi.interpolate\`password=\${token}\` },
  { additionalSecretOutputs: ["stdout", "stderr"] });
if (has("leak")) new local.Command("leak", { create: run("leak"), environment: { API_TOKEN: "${PLAIN}" } });
if (has("delete")) new local.Command("reversing", { create: run("reversing"), delete: "true" });
if (has("gate")) new local.Command("verify", { create: run("verify") });
if (has("unknown")) new local.Command("unknown", { create: run("unknown"), delete: first.stdout });
if (has("barrier")) new Step("barrier", { dependsOn: [first] });
if (has("irreversible")) new local.Command("upgrade", { create: run("upgrade"), triggers: [1],
  stdin: document("upgrade-nodes", { irreversible: true, spec: { nodes: ["a", "b"] } }) });
`;

let dir: string;

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "policies-"));
  symlinkSync(join(root, "node_modules"), join(dir, "node_modules"));
  writeFileSync(
    join(dir, "Pulumi.yaml"),
    "name: probe\nruntime: {name: nodejs, options: {typescript: false}}\nmain: index.ts\n",
  );
  writeFileSync(join(dir, "package.json"), '{"name":"probe","version":"1.0.0","type":"module"}');
  writeFileSync(join(dir, "index.ts"), PROGRAM);
});

afterAll(() => {
  rmSync(dir, { recursive: true, force: true });
});

async function engineWith(...faults: readonly string[]): Promise<{ engine: Engine; journal: string }> {
  const pulumi = (await ensure(["pulumi"])).get("pulumi")?.path ?? "";
  const name = `with-${faults.join("-")}`;
  const journal = join(dir, `${name}.journal`);
  const engine = await Engine.open({
    projectDir: dir,
    pulumiHome: join(dir, "home"),
    backendDir: join(dir, "state"),
    stack: name,
    passphrase: "of the test",
    pulumi,
    userHome: join(dir, "nobody"),
    env: { FAULTS: faults.join(","), JOURNAL: journal },
  });
  ok(await engine.initStack());
  ok(await engine.setConfig("token", SECRET, "secret"));
  return { engine, journal };
}

const violations = (events: Awaited<ReturnType<Engine["preview"]>>["events"]): string[] =>
  events.flatMap(({ policyEvent: found }) =>
    found === undefined
      ? []
      : [`${found.enforcementLevel} ${found.policyName} ${found.resourceUrn?.split("::").at(-1) ?? ""}`],
  );

test("a program without faults passes, and its secrets stay out of everything", async () => {
  const { engine } = await engineWith("none");
  const preview = ok(await engine.preview({ policyPacks }));
  expect(violations(preview.events)).toEqual([]);
  expect(preview.stdout).toContain("✅ migration@v0.1.0");
  expect(preview.stdout + preview.stderr + JSON.stringify(preview.events)).not.toContain(SECRET);
});

test("every fault fails the preview by its own rule; what is not known is said, and hides none of them", async () => {
  const { engine } = await engineWith("leak", "delete", "gate", "unknown", "barrier", "irreversible");
  const preview = await engine.preview({ policyPacks });
  expect(preview.code).not.toBe(0);
  expect(violations(preview.events).sort()).toEqual([
    "advisory not-decided unknown",
    "advisory not-decided unknown",
    "mandatory batch-after-verified upgrade",
    "mandatory drain-needs-budget upgrade",
    "mandatory gate-runs-again verify",
    "mandatory irreversible-needs-snapshot upgrade",
    "mandatory irreversible-needs-snapshot upgrade",
    "mandatory irreversible-needs-snapshot upgrade",
    "mandatory no-empty-barrier barrier",
    "mandatory no-reversing-delete reversing",
    "mandatory no-secrets-in-commands leak",
    "mandatory one-canary upgrade",
    "mandatory work-after-gate upgrade",
    "mandatory work-after-gate upgrade",
  ]);
  const said = preview.events.flatMap(({ policyEvent }) => policyEvent?.message ?? []).join("\n");
  expect(said).toContain("not decided: no-reversing-delete at 'unknown': `delete` is not known yet");
  expect(said).not.toContain(PLAIN);
  expect(said).not.toContain(SECRET);
});

test("a rule on one resource stops an `up` without preview before the resource runs", async () => {
  const { engine, journal } = await engineWith("irreversible");
  const up = await engine.up({ policyPacks });
  expect(up.code).not.toBe(0);
  expect(up.stdout).toContain("irreversible-needs-snapshot");
  const ran = existsSync(journal) ? readFileSync(journal, "utf8") : "";
  expect(ran).not.toContain("upgrade");
});
