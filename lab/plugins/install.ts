/**
 * Puts the plugins that the program needs where the engine looks for them, each only where the official one is
 * missing. Everything is written below one PULUMI_HOME, which belongs to the lab; the user's own is only read.
 *
 * The engine looks first on PATH and beside the pulumi executable, then in `$PULUMI_HOME/plugins/<kind>-<name>-v<version>`
 * (sdk/go/common/workspace/plugins.go). It warns about a plugin on PATH, so stand-ins go into the folder.
 */
import { accessSync, constants, existsSync, realpathSync } from "node:fs";
import { chmod, mkdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { sdkVersion } from "./shared/sdk-versions.ts";

export interface InstallOptions {
  /** The project whose node_modules decide the versions. */
  readonly projectDir: string;
  /** The pulumi executable that will run; official plugins may lie beside it. */
  readonly pulumi: string;
  /** A provider binary for `kubernetes`, where the official one is not installed; without it there is none. */
  readonly kubernetesProvider?: string;
  /** The user's own PULUMI_HOME, searched for official plugins. Default: $PULUMI_HOME or ~/.pulumi. */
  readonly userHome?: string;
  /** The PATH that the engine will have. Default: this process's. */
  readonly path?: string;
}

/** Where one plugin comes from. */
export interface InstalledPlugin {
  readonly version: string;
  /** `official`: found on this machine. `stand-in`: of this lab. `built`: the official source, built by the toolchain. */
  readonly source: "official" | "stand-in" | "built";
  readonly path: string;
}

export interface InstalledPlugins {
  readonly language: InstalledPlugin;
  readonly command: InstalledPlugin;
  /** Absent when neither an official provider nor a built one is there. */
  readonly kubernetes: InstalledPlugin | undefined;
}

/** Safe to call again, and from several processes at once: each file appears whole or not at all. */
export async function installPlugins(pulumiHome: string, options: InstallOptions): Promise<InstalledPlugins> {
  const context = { pulumiHome, options, path: options.path ?? process.env["PATH"] ?? "" };
  return {
    language: await installLanguage(context),
    command: await installCommand(context),
    kubernetes: await installKubernetes(context),
  };
}

interface Context {
  readonly pulumiHome: string;
  readonly options: InstallOptions;
  readonly path: string;
}

async function installLanguage(context: Context): Promise<InstalledPlugin> {
  const version = sdkVersion("@pulumi/pulumi", context.options.projectDir);
  const file = "pulumi-language-nodejs";
  // The official CLI ships its language hosts beside itself.
  const bundled = join(dirname(realpathSync(context.options.pulumi)), file);
  const official = isExecutable(bundled) ? bundled : onPath(file, context.path);
  if (official !== undefined) return { version, source: "official", path: official };
  return standIn(context, `language-nodejs-v${version}`, file, version, "language-nodejs/main.ts");
}

async function installCommand(context: Context): Promise<InstalledPlugin> {
  const version = sdkVersion("@pulumi/command", context.options.projectDir);
  const file = "pulumi-resource-command";
  const official = await officialResource(context, "command", version);
  if (official !== undefined) return official;
  return standIn(context, `resource-command-v${version}`, file, version, "command/main.ts");
}

async function installKubernetes(context: Context): Promise<InstalledPlugin | undefined> {
  const version = sdkVersion("@pulumi/kubernetes", context.options.projectDir);
  const official = await officialResource(context, "kubernetes", version);
  if (official !== undefined) return official;
  if (context.options.kubernetesProvider === undefined) return undefined;
  const path = join(
    context.pulumiHome,
    "plugins",
    `resource-kubernetes-v${version}`,
    "pulumi-resource-kubernetes",
  );
  // By itself the provider asks every five minutes whether the engine is still there, and goes on until then. The
  // engine holds the other end of the plugin's stdin, so that end of file says at once that it is gone.
  await writeScript(path, [
    "# Written by the lab: starts the provider that the toolchain built, and ends it when the engine is gone.",
    "exec 3<&0",
    "(read -r _ <&3; kill -s TERM $$ && sleep 2 && kill -s KILL $$) >/dev/null 2>&1 &",
    `exec ${quote(context.options.kubernetesProvider)} "$@" 3<&-`,
  ]);
  return { version, source: "built", path };
}

/** An official provider of exactly this version, linked from the user's plugin folder, or any on PATH. */
async function officialResource(
  context: Context,
  name: string,
  version: string,
): Promise<InstalledPlugin | undefined> {
  const file = `pulumi-resource-${name}`;
  const ambient = onPath(file, context.path);
  if (ambient !== undefined) return { version, source: "official", path: ambient };
  const userHome = context.options.userHome ?? process.env["PULUMI_HOME"] ?? join(homedir(), ".pulumi");
  const folder = `resource-${name}-v${version}`;
  const theirs = join(userHome, "plugins", folder, file);
  const ours = join(context.pulumiHome, "plugins", folder, file);
  if (theirs === ours || !isExecutable(theirs)) return undefined;
  await link(theirs, ours);
  return { version, source: "official", path: ours };
}

/** A wrapper that turns into node at once, so that the engine's signals reach node itself. */
async function standIn(
  context: Context,
  folder: string,
  file: string,
  version: string,
  main: string,
): Promise<InstalledPlugin> {
  const path = join(context.pulumiHome, "plugins", folder, file);
  await writeScript(path, [
    `# Written by the lab: a stand-in, not the official ${file}. Delete it and install the official one at any time.`,
    `exec ${quote(process.execPath)} ${quote(join(import.meta.dirname, main))} "$@"`,
  ]);
  return { version, source: "stand-in", path };
}

/** Whole or not at all: another process may be starting the plugin right now. */
async function writeScript(path: string, lines: readonly string[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const fresh = `${path}.${process.pid}`;
  await writeFile(fresh, ["#!/bin/sh", ...lines, ""].join("\n"));
  await chmod(fresh, 0o755);
  await rename(fresh, path);
}

async function link(target: string, path: string): Promise<void> {
  if ((await readlink(path).catch(() => undefined)) === target) return;
  await mkdir(dirname(path), { recursive: true });
  const fresh = `${path}.${process.pid}`;
  await rm(fresh, { force: true });
  await symlink(target, fresh);
  await rename(fresh, path);
}

function onPath(file: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((dir) => dir !== "")
    .map((dir) => join(dir, file))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  if (!existsSync(path)) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
