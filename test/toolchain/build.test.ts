import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { cacheFailure } from "../../toolchain/errors.ts";
import { ensure, ToolchainError, ToolchainInterrupted } from "../../toolchain/index.ts";
import type { ToolId } from "../../toolchain/index.ts";
import { ownProcess } from "../../toolchain/process.ts";
import { isRunning, until, World } from "./kit.ts";

const cli = join(import.meta.dirname, "..", "..", "toolchain", "cli.ts");

function inOtherProcess(world: World, id: ToolId): ChildProcess {
  return spawn(process.execPath, [cli, "ensure", id], { env: world.env, stdio: "ignore" });
}

function source(world: World, id: ToolId = "etcd"): Promise<string | undefined> {
  return ensure([id], { env: world.env, progress: world.progress }).then((all) => all.get(id)?.source);
}

async function failure(world: World, ids: readonly ToolId[]): Promise<string> {
  try {
    await ensure(ids, { env: world.env, progress: world.progress });
  } catch (error) {
    expect(error).toBeInstanceOf(ToolchainError);
    return String(error);
  }
  throw new Error("ensure did not fail");
}

/** Pid of the fake go of the first build, once it is at work. */
async function goAtWork(world: World): Promise<number> {
  await until("the build has started", () => world.builds().length > 0);
  return Number(world.builds()[0]?.split(" ")[0]);
}

test("a build killed half-way leaves no program and no process; the next one cleans up and succeeds", async () => {
  const world = new World();
  world.go();
  world.env["FAKE_SLEEP"] = "60";
  const builder = inOtherProcess(world, "etcd");
  const go = await goAtWork(world);
  builder.kill("SIGKILL");
  await once(builder, "exit");
  await until("go has ended with its parent", () => !isRunning(go));
  expect(world.published()).toEqual([]);
  expect(world.leftovers()).toHaveLength(2);

  delete world.env["FAKE_SLEEP"];
  expect(await source(world)).toBe("built");
  expect(world.leftovers()).toEqual([]);
});

test("Ctrl-C ends go, removes what was half-built and still ends the program by the signal", async () => {
  const world = new World();
  world.go();
  world.env["FAKE_SLEEP"] = "60";
  const builder = inOtherProcess(world, "etcd");
  const go = await goAtWork(world);
  builder.kill("SIGINT");
  expect(await once(builder, "exit")).toEqual([null, "SIGINT"]);
  expect(isRunning(go)).toBe(false);
  expect(world.published()).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

test("an aborted signal does the same", async () => {
  const world = new World();
  world.go();
  world.env["FAKE_SLEEP"] = "60";
  const stop = new AbortController();
  const outcome = ensure(["etcd"], { env: world.env, signal: stop.signal }).catch((error: unknown) => error);
  await goAtWork(world);
  stop.abort();
  expect(await outcome).toBeInstanceOf(ToolchainInterrupted);
  expect(world.leftovers()).toEqual([]);
});

test("two at once build once; the second waits and says for whom", async () => {
  const world = new World();
  world.go();
  world.env["FAKE_SLEEP"] = "0.4";
  const other = inOtherProcess(world, "etcd");
  await goAtWork(world);
  expect(await source(world)).toBe("cache");
  expect(world.lines).toContainEqual(expect.stringContaining(`waiting for process ${other.pid ?? 0}`));
  expect(other.exitCode ?? (await once(other, "exit"))[0]).toBe(0);
  expect(world.builds()).toHaveLength(1);
});

test("many at once in one process build once", async () => {
  const world = new World();
  world.go();
  world.env["FAKE_SLEEP"] = "0.2";
  const sources = await Promise.all([1, 2, 3, 4].map(() => source(world)));
  expect(sources.sort()).toEqual(["built", "cache", "cache", "cache"]);
  expect(world.builds()).toHaveLength(1);
});

test.each([
  ["a dead process", { pid: 2 ** 22 + 1, start: "1" }],
  ["a process whose pid is used again", { pid: process.pid, start: "1" }],
])("the lock of %s is taken over", async (_, owner) => {
  const world = new World();
  world.go();
  const locks = join(world.cache, "toolchain", ".locks");
  mkdirSync(locks, { recursive: true });
  writeFileSync(join(locks, "etcd-3.6.16.lock"), JSON.stringify({ ...ownProcess(), ...owner }));
  expect(await source(world)).toBe("built");
  expect(world.leftovers()).toEqual([]);
});

test("the lock of a live process is not taken over", async () => {
  const world = new World();
  world.go();
  const locks = join(world.cache, "toolchain", ".locks");
  mkdirSync(locks, { recursive: true });
  writeFileSync(join(locks, "etcd-3.6.16.lock"), JSON.stringify(ownProcess()));
  const stop = new AbortController();
  const outcome = ensure(["etcd"], { env: world.env, signal: stop.signal }).catch((error: unknown) => error);
  await sleep(300);
  expect(world.builds()).toEqual([]);
  stop.abort();
  expect(await outcome).toBeInstanceOf(ToolchainInterrupted);
});

test("no Go: what is missing, what to install, what could be provided instead, all at once", async () => {
  const world = new World();
  const message = await failure(world, ["etcd", "pulumi", "kube-apiserver@1.35"]);
  expect(message).toMatch(/3 of the tools are neither .* cannot be built: there is no Go on PATH/);
  expect(message).toMatch(/Install Go 1\.26\.6 or later/);
  expect(message).toContain("put etcd 3.6.x on PATH, or name it by CLUSTER_MIGRATION_ETCD");
  expect(message).toContain("CLUSTER_MIGRATION_PULUMI");
  expect(message).toContain(
    "put kube-apiserver 1.35.x on PATH, or name it by CLUSTER_MIGRATION_KUBE_APISERVER_1_35",
  );
});

test("a Go older than the modules need says which Go was found", async () => {
  const world = new World();
  world.go("1.21.3");
  const message = await failure(world, ["etcd"]);
  expect(message).toMatch(/cannot be built: the Go on PATH is too old: \S+\/go is Go 1\.21\.3/);
  expect(message).toMatch(/Install Go 1\.26\.0 or later/);
});

test("a failed build shows the end of go's output and the log, and publishes nothing", async () => {
  const world = new World();
  world.go();
  world.env["FAKE_FAIL"] = "1";
  const message = await failure(world, ["etcd"]);
  expect(message).toContain("cannot build etcd 3.6.16: go build ended with exit code 1");
  expect(message).toContain("    server.go:7: undefined: quorum");
  const log = /full log: (\S+)/.exec(message)?.[1] ?? "";
  expect(readFileSync(log, "utf8")).toContain("undefined: quorum");
  expect(world.published()).toEqual([]);
  expect(world.leftovers()).toEqual([]);
});

test("a program that says another version than its pin is not published", async () => {
  const world = new World();
  world.go();
  world.env["FAKE_VERSION"] = "3.6.15";
  expect(await failure(world, ["etcd"])).toContain("the built etcd says it is 3.6.15, not 3.6.16");
  expect(world.published()).toEqual([]);
});

test("a truncated program in the cache is built again", async () => {
  const world = new World();
  world.go();
  const path = (await ensure(["etcd"], { env: world.env })).get("etcd")?.path ?? "";
  truncateSync(path, 3);
  expect(await source(world)).toBe("built");
  expect(world.lines).toContainEqual(
    expect.stringMatching(/to be built again: .* has 3 bytes, its manifest/),
  );
  expect(await source(world)).toBe("cache");
  expect(world.leftovers()).toEqual([]);
});

test("a cache that cannot be written is told with its path and the repair", async () => {
  const world = new World();
  world.go();
  writeFileSync(world.cache, "a file where the cache should be");
  const message = await failure(world, ["etcd"]);
  expect(message).toContain(world.cache);
  expect(message).toContain("CLUSTER_MIGRATION_CACHE");
  // What is on PATH needs no cache.
  world.etcd("3.6.1");
  expect(await source(world)).toBe("path");
});

test.runIf(process.platform === "linux")(
  "a cache where nothing can be made is told too, and at once",
  async () => {
    const world = new World();
    world.go();
    world.env["CLUSTER_MIGRATION_CACHE"] = "/proc/cluster-migration";
    expect(await failure(world, ["etcd"])).toMatch(/\/proc\/cluster-migration\S*: nothing can be made there/);
  },
);

test("a full disk is told as such", () => {
  const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  const error = cacheFailure("write to", "/somewhere", full);
  expect(error.message).toMatch(/^cannot write to \/somewhere: the disk is full: .*CLUSTER_MIGRATION_CACHE$/);
});
