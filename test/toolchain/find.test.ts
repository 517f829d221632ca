import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ensure, kwokStages, stageFolders } from "../../toolchain/index.ts";
import type { ToolId } from "../../toolchain/index.ts";
import { askPluginVersion } from "../../toolchain/plugin-version.ts";
import { probe } from "../../toolchain/probe.ts";
import { isRunning, until, World } from "./kit.ts";

async function locate(world: World, id: ToolId = "etcd"): Promise<unknown> {
  const found = (await ensure([id], { env: world.env, progress: world.progress })).get(id);
  return found === undefined ? undefined : [found.source, found.version, found.path];
}

test("built, then from the cache, then from PATH, then from the variable", async () => {
  const world = new World();
  world.go();
  expect(await locate(world)).toEqual(["built", "3.6.16", expect.stringContaining("/etcd-3.6.16-")]);
  expect(await locate(world)).toEqual(["cache", "3.6.16", expect.stringContaining("/etcd-3.6.16-")]);
  const onPath = world.etcd("3.6.17");
  expect(await locate(world)).toEqual(["path", "3.6.17", onPath]);
  const named = world.etcd("3.6.18", join(world.root, "named"));
  world.env["CLUSTER_MIGRATION_ETCD"] = named;
  expect(await locate(world)).toEqual(["variable", "3.6.18", named]);
  expect(world.builds()).toHaveLength(1);
});

test("the cache needs no Go", async () => {
  const world = new World();
  world.go();
  await locate(world);
  world.env["PATH"] = join(world.root, "empty");
  expect(await locate(world)).toEqual(["cache", "3.6.16", expect.any(String)]);
});

test("variables that name something unfit are refused, all in one message", async () => {
  const world = new World();
  const ids: ToolId[] = ["etcd", "etcdctl", "etcdutl", "kwok"];
  world.env["CLUSTER_MIGRATION_ETCD"] = world.etcd("3.5.9");
  world.env["CLUSTER_MIGRATION_ETCDCTL"] = join(world.root, "nowhere");
  world.env["CLUSTER_MIGRATION_ETCDUTL"] = world.program("etcdutl", "echo oops >&2; exit 3");
  world.env["CLUSTER_MIGRATION_KWOK"] = world.program("kwok", "echo a note");
  const message = await ensure(ids, { env: world.env }).then(
    () => "",
    (error: unknown) => String(error),
  );
  expect(message).toMatch(/CLUSTER_MIGRATION_ETCD=\S+: it is version 3\.5\.9; needs etcd 3\.6\.x/);
  expect(message).toMatch(/CLUSTER_MIGRATION_ETCDCTL=\S+nowhere: there is no executable file; needs etcdctl/);
  expect(message).toMatch(/CLUSTER_MIGRATION_ETCDUTL=\S+: ended with exit code 3: oops;/);
  expect(message).toMatch(/CLUSTER_MIGRATION_KWOK=\S+: says no version that is understood: "a note"/);
});

test("what does not fit on PATH is passed over with a note, and the next one is looked at", async () => {
  const world = new World();
  const folders = ["old", "broken", "other", "good"].map((name) => join(world.root, name));
  world.env["PATH"] = folders.join(":");
  world.etcd("3.5.9", folders[0]);
  world.program("etcd", "exit 1", folders[1]);
  world.program("etcd", "echo hello", folders[2]);
  const good = world.etcd("3.6.2", folders[3]);
  expect(await locate(world)).toEqual(["path", "3.6.2", good]);
  const notes = world.lines.filter((line) => line.startsWith("etcd: passed over"));
  expect(notes).toEqual([
    expect.stringContaining("version 3.5.9, needs 3.6.x"),
    expect.stringContaining("it ended with exit code 1"),
    expect.stringContaining('says no version that is understood: "hello"'),
  ]);
});

test("a file that has not changed is asked once, a changed one again", async () => {
  const world = new World();
  const asked = join(world.root, "asked");
  const path = world.program("etcd", `echo x >> ${asked}; echo "etcd Version: 3.6.1"`);
  await locate(world);
  await locate(world);
  expect(readFileSync(asked, "utf8")).toBe("x\n");
  utimesSync(path, new Date(), new Date(Date.now() - 60_000));
  await locate(world);
  expect(readFileSync(asked, "utf8")).toBe("x\nx\n");
});

test("a damaged memory of answers is no obstacle", async () => {
  const world = new World();
  mkdirSync(join(world.cache, "toolchain"), { recursive: true });
  writeFileSync(join(world.cache, "toolchain", "probes.json"), "{half");
  const path = world.etcd("3.6.1");
  expect(await locate(world)).toEqual(["path", "3.6.1", path]);
});

test("a program that hangs is given up, and ended", async () => {
  const world = new World();
  const pids = join(world.root, "pids");
  const path = world.program("etcd", `/bin/sleep 60 & echo $! > ${pids}; wait`);
  const query = { kind: "command", args: [], pattern: /x/ } as const;
  const answer = await probe(path, query, world.env, 150);
  expect(answer).toEqual({ kind: "broken", reason: "gave no version within 0.15 s" });
  const sleeper = Number(readFileSync(pids, "utf8"));
  await until("what the program started has ended too", () => !isRunning(sleeper));
});

test("a plugin is asked over gRPC", async () => {
  const server = createServer();
  server.on("stream", (stream, headers) => {
    expect(headers[":path"]).toBe("/pulumirpc.ResourceProvider/GetPluginInfo");
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    const message = Buffer.concat([Buffer.from([0x0a, 6]), Buffer.from("4.25.0")]);
    stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    expect(await askPluginVersion(port, 2_000)).toBe("4.25.0");
  } finally {
    server.close();
  }
  await expect(askPluginVersion(port, 2_000)).rejects.toThrow("ECONNREFUSED");
});

function moduleWithStages(world: World): string {
  const module = join(world.root, "kwok-module");
  for (const folder of stageFolders) {
    const stage = join(module, "kustomize", "stage", folder);
    mkdirSync(join(stage, "testdata"), { recursive: true });
    writeFileSync(join(stage, "stage.yaml"), "kind: Stage\n");
    writeFileSync(join(stage, "embed.go"), "package fast\n");
  }
  return module;
}

test("a built kwok has its stages beside it; one from PATH gets those of the pinned module, without a build", async () => {
  const built = new World();
  built.go();
  built.env["FAKE_VERSION"] = "0.8.0";
  built.env["FAKE_MODULE"] = moduleWithStages(built);
  const kwok = (await ensure(["kwok"], { env: built.env })).get("kwok");
  expect(kwok && kwokStages(kwok, built.env)).toBe(join(String(kwok?.path), "..", "stages"));

  const onPath = new World();
  onPath.go();
  onPath.env["FAKE_MODULE"] = moduleWithStages(onPath);
  onPath.program("kwok", 'echo "kwok version v0.8.1 go1.26"');
  const other = (await ensure(["kwok"], { env: onPath.env })).get("kwok");
  expect(other?.source).toBe("path");
  const stages = other === undefined ? "" : kwokStages(other, onPath.env);
  expect(readFileSync(join(stages, "node/fast/stage.yaml"), "utf8")).toBe("kind: Stage\n");
  expect(onPath.builds()).toEqual([]);
});

test("kwok's stages can be named; a folder without them is refused", async () => {
  const world = new World();
  world.program("kwok", 'echo "kwok version v0.8.1 go1.26"');
  await expect(ensure(["kwok"], { env: world.env })).rejects.toThrow(
    /kwok's stages: from sigs\.k8s\.io\/kwok/,
  );
  const named = join(moduleWithStages(world), "kustomize", "stage");
  world.env["CLUSTER_MIGRATION_KWOK_STAGES"] = named;
  const kwok = (await ensure(["kwok"], { env: world.env })).get("kwok");
  expect(kwok && kwokStages(kwok, world.env)).toBe(named);
  world.env["CLUSTER_MIGRATION_KWOK_STAGES"] = world.bin;
  await expect(ensure(["kwok"], { env: world.env })).rejects.toThrow(
    /pod\/fast, node\/fast.* not found there/,
  );
});
