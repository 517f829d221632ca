/** Builds one pinned program into the cache, or nothing at all. */
import { existsSync, readFileSync } from "node:fs";
import { copyFile, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  buildFlags,
  entryName,
  linkerFlags,
  makeFolder,
  manifestName,
  moduleFiles,
  modulesFolder,
  platform,
  sha256Of,
  sync,
} from "./cache.ts";
import type { Cache, Manifest } from "./cache.ts";
import { cacheFailure, errorCode, ToolchainError, ToolchainInterrupted } from "./errors.ts";
import type { Located } from "./find.ts";
import { runGo } from "./go.ts";
import type { Go } from "./go.ts";
import { pinOf } from "./pins.ts";
import type { Pin } from "./pins.ts";
import { probe } from "./probe.ts";
import { ownProcess, stateOf } from "./process.ts";
import { copyStages, stagesEntryName } from "./stages.ts";

export interface Workshop {
  readonly cache: Cache;
  readonly go: Go;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** One build's folders. All of them go when it ends; after kill -9 the next build of anything removes them. */
interface Bench {
  readonly folder: string;
  readonly source: string;
  readonly entry: string;
  readonly temporary: string;
  readonly log: string;
}

const logLines = 25;

async function openBench(cache: Cache, pin: Pin, label: string): Promise<Bench> {
  const { pid, start, host } = ownProcess();
  const random = Math.random().toString(36).slice(2, 8);
  const folder = join(cache.building, [host, pid, start, random, label].join("-"));
  const bench = {
    folder,
    source: join(folder, "source"),
    entry: join(folder, "entry"),
    temporary: join(folder, "temporary"),
    log: join(cache.logs, `${label}.log`),
  };
  await makeFolder(cache.logs);
  for (const one of [bench.source, bench.entry, bench.temporary]) await makeFolder(one);
  // Built from a copy: go and this project write beside the sources, and the checkout may be read-only.
  for (const name of moduleFiles(pin)) {
    await copyFile(join(modulesFolder, pin.folder, name), join(bench.source, name));
  }
  await writeFile(bench.log, "");
  return bench;
}

/** Removes what dead builds left: never a live one's, and another host's only when a day old. */
export async function sweep(cache: Cache): Promise<void> {
  for (const name of await readdir(cache.building).catch(() => [])) {
    const path = join(cache.building, name);
    const [host = "", pid = "", start = ""] = name.split("-");
    const state = stateOf({ host, pid: Number(pid), start });
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? 0);
    if (state === "dead" || (state === "unknown" && age > 86_400_000)) {
      await rm(path, { recursive: true, force: true });
    }
  }
}

function tail(log: string): string {
  const text = existsSync(log) ? readFileSync(log, "utf8").trimEnd() : "";
  const lines = text.split("\n").slice(-logLines);
  return lines.map((line) => `    ${line}`).join("\n");
}

/** The module's folder in Go's module cache, fetched and held against go.sum if it is not there yet. */
async function moduleFolderOf(packagePath: string, bench: Bench, shop: Workshop): Promise<string> {
  const output = await runGo(shop.go, ["list", "-mod=readonly", "-f", "{{.Module.Dir}}", packagePath], {
    ...shop,
    folder: bench.source,
    temporary: bench.temporary,
    log: bench.log,
    capture: true,
  });
  return output.trim();
}

/**
 * Makes the two files that the provider's main embeds, as its own build does (cmd/pulumi-resource-kubernetes,
 * generate.go): the schema with the version put in, and the mapping, both without white space.
 */
async function embedSchema(pin: Pin, bench: Bench, shop: Workshop): Promise<void> {
  const module = await moduleFolderOf(`${pin.module}/pkg/provider`, bench, shop);
  const from = join(module, "cmd", "pulumi-resource-kubernetes");
  const parse = async (name: string): Promise<object> => {
    const value: unknown = JSON.parse(await readFile(join(from, name), "utf8"));
    if (typeof value !== "object" || value === null)
      throw new ToolchainError(`${name} in ${from} is no object`);
    return value;
  };
  const schema = { ...(await parse("schema.json")), version: pin.version };
  await writeFile(join(bench.source, "schema-embed.json"), JSON.stringify(schema));
  const mapping = await parse("terraform-mapping.json");
  await writeFile(join(bench.source, "terraform-mapping-embed.json"), JSON.stringify(mapping));
}

async function compile(pin: Pin, bench: Bench, shop: Workshop): Promise<void> {
  if (pin.id === "pulumi-resource-kubernetes") await embedSchema(pin, bench, shop);
  const output = join(bench.entry, pin.name);
  const args = ["build", ...buildFlags, "-ldflags", linkerFlags(pin), "-o", output, pin.packagePath];
  await runGo(shop.go, args, {
    ...shop,
    folder: bench.source,
    temporary: bench.temporary,
    log: bench.log,
  });
  if (pin.id === "kwok") {
    await copyStages(await moduleFolderOf(pin.packagePath, bench, shop), join(bench.entry, "stages"));
  }
}

/** A program that does not say the version it is pinned to must not be found under that version's name. */
async function verifyVersion(pin: Pin, bench: Bench, env: NodeJS.ProcessEnv): Promise<void> {
  const answer = await probe(join(bench.entry, pin.name), pin.query, env);
  if (answer.kind === "broken") throw new ToolchainError(`the built ${pin.name} ${answer.reason}`);
  if (answer.text !== pin.version) {
    throw new ToolchainError(`the built ${pin.name} says it is ${answer.text}, not ${pin.version}`);
  }
}

/** One rename; a builder that was faster is as good. */
async function publish(bench: Bench, target: string): Promise<void> {
  await sync(bench.entry);
  try {
    await rename(bench.entry, target);
  } catch (error) {
    const code = errorCode(error);
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
  await sync(dirname(target));
}

function explain(what: string, bench: Bench, cause: unknown): ToolchainError {
  if (cause instanceof ToolchainInterrupted) return cause;
  if (errorCode(cause) !== undefined) return cacheFailure(`build ${what} in`, bench.folder, cause);
  const shown = tail(bench.log);
  const lines = [
    `cannot build ${what}: ${cause instanceof Error ? cause.message : String(cause)}`,
    ...(shown.trim() === "" ? [] : ["  the last of what go said:", shown]),
    ...(/no space left on device/i.test(shown)
      ? ["  the disk is full: free some space (go also uses GOCACHE and GOMODCACHE, see `go env`)"]
      : []),
    `  full log: ${bench.log}`,
  ];
  return new ToolchainError(lines.join("\n"), { cause });
}

/** Runs `work` on a bench that is gone afterwards, whatever happened. */
async function onBench(
  pin: Pin,
  shop: Workshop,
  label: string,
  what: string,
  work: (bench: Bench) => Promise<void>,
): Promise<void> {
  let bench: Bench | undefined;
  try {
    bench = await openBench(shop.cache, pin, label);
    await work(bench);
  } catch (error) {
    if (bench === undefined) throw cacheFailure("write to", shop.cache.root, error);
    throw explain(what, bench, error);
  } finally {
    if (bench !== undefined) await rm(bench.folder, { recursive: true, force: true });
  }
}

/**
 * Builds, verifies, publishes.
 *
 * @throws ToolchainError with the tail of go's output and the log's path
 * @throws ToolchainInterrupted when the signal is aborted
 */
export async function build(pin: Pin, shop: Workshop): Promise<Located> {
  const started = performance.now();
  const target = join(shop.cache.root, entryName(pin));
  await onBench(pin, shop, `${pin.name}-${pin.version}`, `${pin.name} ${pin.version}`, async (bench) => {
    await compile(pin, bench, shop);
    await verifyVersion(pin, bench, shop.env);
    const program = join(bench.entry, pin.name);
    const manifest: Manifest = {
      format: 1,
      id: pin.id,
      version: pin.version,
      module: pin.module,
      moduleVersion: pin.moduleVersion,
      checksums: pin.checksums,
      goVersion: shop.go.version,
      platform: `${platform.os}/${platform.arch}`,
      linkerFlags: linkerFlags(pin),
      size: (await stat(program)).size,
      sha256: await sha256Of(program),
      builtAt: new Date().toISOString(),
      seconds: Math.round((performance.now() - started) / 1000),
    };
    const manifestPath = join(bench.entry, manifestName);
    await writeFile(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
    await sync(program);
    await sync(manifestPath);
    await publish(bench, target);
  });
  return { id: pin.id, name: pin.name, version: pin.version, path: join(target, pin.name), source: "built" };
}

/** kwok's stages without a kwok, for one that came from elsewhere. */
export async function fetchStages(shop: Workshop): Promise<void> {
  const pin = pinOf("kwok");
  await onBench(pin, shop, `kwok-stages-${pin.version}`, `kwok's stages ${pin.version}`, async (bench) => {
    await copyStages(await moduleFolderOf(pin.packagePath, bench, shop), join(bench.entry, "stages"));
    await publish(bench, join(shop.cache.root, stagesEntryName()));
  });
}

/** Takes an entry that cannot be used out of the way, in one rename. */
export async function discard(pin: Pin, cache: Cache): Promise<void> {
  const { pid, start, host } = ownProcess();
  const aside = join(cache.building, [host, pid, start, Date.now(), "damaged"].join("-"));
  await makeFolder(cache.building);
  await rename(join(cache.root, entryName(pin)), aside);
  await rm(aside, { recursive: true, force: true });
}
