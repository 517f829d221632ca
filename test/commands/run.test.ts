/** What surrounds every command, inside one process and as the engine starts it. */
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { text as readText } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCommand, Refusal, type CommandDefinition, type Context } from "../../commands/context.ts";
import type { CommandDocument } from "../../commands/document.ts";
import { Journal, type Entry } from "../../commands/drain/journal.ts";
import { sha256, writeWhole } from "../../commands/files.ts";
import { COMMANDS } from "../../commands/registry.ts";
import { run } from "../../commands/run.ts";
import { FakeCluster } from "../cluster/fake-cluster.ts";
import { failure, withCertificates } from "../cluster/fake-server.ts";
import { document, temporaryFolder, untouchable } from "./context.ts";

withCertificates();

const root = path.join(import.meta.dirname, "../..");

const doing = (work: (context: Context) => void | Promise<void>, mutates = false): CommandDefinition =>
  defineCommand({
    spec: z.strictObject({}),
    mutates,
    run: async (context) => {
      await work(context);
      return { summary: "done", seen: {} };
    },
  });

const never = doing(() => {
  throw new Error("it was run");
});

function start(fake: FakeCluster, definition: CommandDefinition, more: Partial<CommandDocument> = {}) {
  const artefacts: Record<string, string> = {};
  const stop = new AbortController();
  const outcome = run(
    document({ out: temporaryFolder(), ...more }),
    definition,
    fake.server.api,
    stop.signal,
    () => undefined,
    artefacts,
  );
  return { outcome, artefacts, stop };
}

const codes = async (promise: Promise<unknown>): Promise<string[]> => {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  if (!(error instanceof Refusal)) throw new Error(`no refusal: ${String(error)}`);
  return error.findings.map((one) => one.code);
};

describe("a command", () => {
  it("of the past refuses before it asks the cluster anything", async () => {
    const outcome = run(
      document({ history: true }),
      never,
      untouchable,
      new AbortController().signal,
      () => undefined,
      {},
    );
    expect(await codes(outcome)).toEqual(["STAGE-HISTORY"]);
  });

  it("refuses another cluster, nodes that are gone, and nodes of the same name, and writes nothing", async () => {
    const fake = await FakeCluster.start();
    fake.node("a");
    fake.node("b");
    const bound = { clusterUid: "reviewed", nodes: { a: "uid-a", b: "another", c: "uid-c" } };
    const { outcome } = start(fake, { ...never, mutates: true }, { bound });
    expect((await codes(outcome)).sort()).toEqual(["BOUND-CLUSTER", "BOUND-NODE", "BOUND-NODE"]);
    expect(fake.server.asked.every((one) => one.method === "GET")).toBe(true);
  });

  it("with settings that do not fit says which, and asks the cluster nothing", async () => {
    const definition = defineCommand({ ...never, spec: z.strictObject({ nodes: z.array(z.string()) }) });
    const outcome = run(
      document({ spec: { node: "a" } }),
      definition,
      untouchable,
      new AbortController().signal,
      () => undefined,
      {},
    );
    await expect(outcome).rejects.toThrow(/spec\.nodes: is not given[^]*spec\.node: there is no setting/);
  });

  it("that changes something holds the lock while it works, and gives it back also when it fails", async () => {
    const fake = await FakeCluster.start();
    const holder = (): string =>
      (fake.lease?.spec as { holderIdentity?: string } | undefined)?.holderIdentity ?? "";
    const during: string[] = [];
    await start(
      fake,
      doing(() => void during.push(holder()), true),
    ).outcome;
    expect(during[0]).toContain("o/p/s@drain");
    expect(holder()).toBe("");
    const failing = doing(() => {
      during.push(holder());
      throw new Error("no");
    }, true);
    await expect(start(fake, failing).outcome).rejects.toThrow("no");
    expect(during[1]).not.toBe("");
    expect(holder()).toBe("");
  });

  it("that only reads needs no lock", async () => {
    const fake = await FakeCluster.start();
    await start(
      fake,
      doing(() => undefined),
    ).outcome;
    expect(fake.lease).toBeNull();
  });

  it("keeps what it wrote, with checksums, also when it fails later", async () => {
    const fake = await FakeCluster.start();
    const { outcome, artefacts } = start(
      fake,
      doing(async (context) => {
        await context.artefact("cordon.txt", "node/a cordoned\n");
        throw new Error("later");
      }),
    );
    await expect(outcome).rejects.toThrow("later");
    expect(artefacts).toEqual({ "cordon.txt": sha256("node/a cordoned\n") });
  });
});

describe("the registry", () => {
  it("holds these commands: documents in stacks' states refer to them by name", () => {
    expect(Object.keys(COMMANDS).sort()).toEqual([
      "check",
      "cordon",
      "drain",
      "gate",
      "inventory",
      "plan-documents",
      "snapshot",
      "uncordon",
      "upgrade-control-plane",
      "upgrade-nodes",
    ]);
  });

  it("takes the lock for each that changes cluster or machines", () => {
    const mutating = Object.keys(COMMANDS).filter((name) => COMMANDS[name]?.mutates === true);
    expect(mutating.sort()).toEqual([
      "cordon",
      "drain",
      "uncordon",
      "upgrade-control-plane",
      "upgrade-nodes",
    ]);
  });
});

describe.concurrent("as the engine starts it", () => {
  async function main(stdin: string, out: string) {
    const child = spawn(process.execPath, [path.join(root, "commands/main.ts")], { cwd: root });
    child.stdin.end(stdin);
    const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
    const [stdout, stderr, code] = await Promise.all([
      readText(child.stdout),
      readText(child.stderr),
      exited,
    ]);
    const folder = path.join(out, "evidence/drain");
    return { stdout, stderr, code, evidence: existsSync(folder) ? readdirSync(folder) : [] };
  }

  async function prepared(more: Partial<CommandDocument> = {}) {
    const fake = await FakeCluster.start();
    fake.node("a");
    const out = temporaryFolder();
    const made = document({
      command: "cordon",
      cluster: fake.server.access,
      out,
      spec: { nodes: ["a"], artefacts: true },
      ...more,
    });
    return { fake, out, document: made, go: () => main(JSON.stringify(made), out) };
  }

  it("prints one line of JSON and leaves evidence whose checksum fits", async () => {
    const { go, out, fake } = await prepared();
    const { stdout, code, evidence } = await go();
    expect(code).toBe(0);
    expect(fake.cordoned()).toEqual(["a"]);
    expect(stdout.trim().split("\n")).toHaveLength(1);
    const result = JSON.parse(stdout) as { evidence: { file: string; sha256: string } };
    const text = readFileSync(result.evidence.file, "utf8");
    expect(sha256(text)).toBe(result.evidence.sha256);
    expect(evidence).toHaveLength(1);
    expect(JSON.parse(text)).toMatchObject({
      command: "cordon",
      verdict: "done",
      artefacts: { "cordon.txt": sha256(readFileSync(path.join(out, "cordon.txt"), "utf8")) },
    });
  });

  it("can be run again: nothing changes, and there is evidence of each run", async () => {
    const { go, fake } = await prepared();
    await go();
    const { code, evidence, stderr } = await go();
    expect(code).toBe(0);
    expect(stderr).toContain("already cordoned");
    expect(evidence).toHaveLength(2);
    expect(fake.server.lines("PATCH")).toHaveLength(1);
  });

  it("says why it refuses, with evidence, and nothing on standard output", async () => {
    const { go } = await prepared({ history: true });
    const { stdout, stderr, code, evidence } = await go();
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain("STAGE-HISTORY");
    expect(evidence).toHaveLength(1);
  });

  it("says in one message that the cluster is away, or denies it", async () => {
    const away = await prepared();
    away.fake.server.away = true;
    const unreachable = await away.go();
    expect(unreachable.code).toBe(1);
    expect(unreachable.stderr).toContain("CLUSTER-UNREACHABLE");
    expect(unreachable.stderr).not.toMatch(/^\s+at /m);
    const denied = await prepared();
    denied.fake.onRequest = () => failure(403, "Forbidden", "no");
    expect((await denied.go()).stderr).toContain("CLUSTER-DENIED");
  });

  it.each([
    ["is no JSON", "{", /JSON/],
    ["is empty", "", /JSON|document/],
    ["lacks all", "{}", /document\.command/],
    ["names no command", JSON.stringify(document({ command: "explode" })), /there is no command 'explode'/],
    [
      "names what every object has",
      JSON.stringify(document({ command: "constructor" })),
      /there is no command 'constructor'/,
    ],
    ["has a key too many", JSON.stringify({ ...document(), force: true }), /document\.force/],
  ])("refuses a document that %s, in words", async (_, stdin, message) => {
    const { code, stderr, stdout } = await main(stdin, temporaryFolder());
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

describe("a journal", () => {
  const entry = (uid: string): Entry => ({
    at: "2026-01-01T00:00:00.000Z",
    event: "asked",
    node: "a",
    pod: `shop/${uid}`,
    uid,
    owner: null,
    budgets: [],
  });

  it("is on disk line by line, and read again", async () => {
    const file = path.join(temporaryFolder(), "evidence/drain/journal.jsonl");
    const journal = await Journal.open(file);
    await Promise.all(["x", "y", "z"].map((uid) => journal.write(entry(uid))));
    expect((await Journal.open(file)).entries).toEqual([entry("x"), entry("y"), entry("z")]);
  });

  it("that was cut off by a kill loses its last line and no other", async () => {
    const file = path.join(temporaryFolder(), "journal.jsonl");
    writeFileSync(file, `${JSON.stringify(entry("x"))}\n${JSON.stringify(entry("y")).slice(0, 40)}`);
    const journal = await Journal.open(file);
    expect(journal.entries).toEqual([entry("x")]);
    await journal.write(entry("z"));
    expect((await Journal.open(file)).entries).toEqual([entry("x"), entry("z")]);
  });

  it("that somebody ended without a line end is gone on with on a line of its own", async () => {
    const file = path.join(temporaryFolder(), "journal.jsonl");
    writeFileSync(file, JSON.stringify(entry("x")));
    await (await Journal.open(file)).write(entry("y"));
    appendFileSync(file, "\n");
    expect((await Journal.open(file)).entries).toEqual([entry("x"), entry("y")]);
  });
});

describe("a file", () => {
  it("is whole or not there, and nothing is left beside it", async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, "a/b.txt");
    await writeWhole(file, "one");
    await writeWhole(file, "two");
    expect(readFileSync(file, "utf8")).toBe("two");
    expect(readdirSync(path.dirname(file))).toEqual(["b.txt"]);
  });
});
