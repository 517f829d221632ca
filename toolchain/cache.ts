/**
 * The cache of built programs.
 *
 * `toolchain/<name>-<version>-<recipe>/<name>`, where <recipe> is a hash of all that decides what is built:
 * go.mod, go.sum and Go sources of the module's folder, package, linker flags and platform. A changed pin is
 * therefore another folder, and one that is there is right. Go's own version is left out on purpose: a patch of
 * Go would throw away 15 minutes of work for programs that behave the same, and finding the cache would need Go
 * to be installed. The manifest records it.
 *
 * A hit is believed when the manifest's size is the file's. Both appear by one rename after both are on disk, so
 * a half-written program cannot be there; hashing close to a gigabyte at each start would cost more than all else
 * that `ensure` does. `toolchain verify` does hash.
 */
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, open, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { errorCode } from "./errors.ts";
import type { Pin } from "./pins.ts";

export const modulesFolder = join(import.meta.dirname, "modules");

/** Go's names for this machine. */
export const platform = {
  os: process.platform,
  arch: process.arch === "x64" ? "amd64" : process.arch,
} as const;

/** `-trimpath` keeps this machine's paths out of the program; `-s -w` leaves out symbols that nobody here reads. */
export const buildFlags = ["-mod=readonly", "-trimpath", "-buildvcs=false"] as const;

export function linkerFlags(pin: Pin): string {
  const variables = Object.entries(pin.linkerVariables).map(([name, value]) => `-X ${name}=${value}`);
  return ["-s", "-w", ...variables].join(" ");
}

export interface Manifest {
  readonly format: 1;
  readonly id: string;
  readonly version: string;
  readonly module: string;
  readonly moduleVersion: string;
  readonly checksums: string;
  readonly goVersion: string;
  readonly platform: string;
  readonly linkerFlags: string;
  /** Bytes. */
  readonly size: number;
  readonly sha256: string;
  /** ISO 8601. */
  readonly builtAt: string;
  readonly seconds: number;
}

export interface Cache {
  /** `<cache>/toolchain`. */
  readonly root: string;
  /** Where builds happen; one file system with root, so that a rename publishes. */
  readonly building: string;
  readonly locks: string;
  readonly logs: string;
  readonly probes: string;
}

/** An environment variable of no content counts as not set, as the XDG Base Directory Specification has it. */
export function setting(env: NodeJS.ProcessEnv, name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : value;
}

export function cacheOf(env: NodeJS.ProcessEnv): Cache {
  const own = setting(env, "CLUSTER_MIGRATION_CACHE");
  const shared = setting(env, "XDG_CACHE_HOME") ?? join(setting(env, "HOME") ?? homedir(), ".cache");
  const root = join(own ?? join(shared, "cluster-migration"), "toolchain");
  return {
    root,
    building: join(root, ".building"),
    locks: join(root, ".locks"),
    logs: join(root, "logs"),
    probes: join(root, "probes.json"),
  };
}

/** The files of a module's folder that decide what is built, sorted by name. */
export function moduleFiles(pin: Pin): string[] {
  return readdirSync(join(modulesFolder, pin.folder))
    .filter((name) => name === "go.mod" || name === "go.sum" || name.endsWith(".go"))
    .sort();
}

/** The cache folder's name for what this pin builds here. */
export function entryName(pin: Pin): string {
  const hash = createHash("sha256");
  const recipe = [
    pin.packagePath,
    linkerFlags(pin),
    ...buildFlags,
    platform.os,
    platform.arch,
    "CGO_ENABLED=0",
  ];
  hash.update(JSON.stringify(recipe));
  for (const name of moduleFiles(pin)) {
    const content = readFileSync(join(modulesFolder, pin.folder, name));
    hash.update(`\n${name} ${content.length}\n`).update(content);
  }
  return `${pin.name}-${pin.version}-${hash.digest("hex").slice(0, 12)}`;
}

export const manifestName = "manifest.json";

export async function readManifest(folder: string): Promise<Manifest | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(join(folder, manifestName), "utf8"));
    // Written by this file alone and published with the program; the format number tells a later layout apart.
    if (typeof value === "object" && value !== null && "format" in value && value.format === 1) {
      return value as Manifest;
    }
  } catch {
    // Absent or damaged: not a hit.
  }
  return undefined;
}

export type CacheState =
  | { readonly kind: "hit"; readonly path: string; readonly manifest: Manifest }
  | { readonly kind: "absent" }
  | { readonly kind: "damaged"; readonly reason: string };

export async function lookInCache(cache: Cache, pin: Pin): Promise<CacheState> {
  const folder = join(cache.root, entryName(pin));
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return { kind: "absent" };
  const path = join(folder, pin.name);
  const manifest = await readManifest(folder);
  if (manifest === undefined) return { kind: "damaged", reason: `${folder} has no readable ${manifestName}` };
  const file = await stat(path).catch(() => undefined);
  if (file === undefined) return { kind: "damaged", reason: `${path} is missing` };
  if (file.size !== manifest.size) {
    return { kind: "damaged", reason: `${path} has ${file.size} bytes, its manifest says ${manifest.size}` };
  }
  if ((file.mode & 0o111) === 0) return { kind: "damaged", reason: `${path} is not executable` };
  return { kind: "hit", path, manifest };
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(path), hash);
  return hash.digest("hex");
}

/**
 * Makes a folder with all above it. Node's own recursive mkdir never returns where the file system says that
 * nothing can be made in a folder that is there (ENOENT below /proc, for one).
 */
export async function makeFolder(path: string): Promise<void> {
  if (!existsSync(dirname(path))) await makeFolder(dirname(path));
  try {
    await mkdir(path);
  } catch (error) {
    const there = statSync(path, { throwIfNoEntry: false });
    if (errorCode(error) !== "EEXIST" || there?.isDirectory() !== true) throw error;
  }
}

/** Makes a file's content, or a folder's list of names, survive a power cut. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
