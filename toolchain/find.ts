/** Where a tool comes from, short of building it: its variable, else PATH, else the cache. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { lookInCache, setting } from "./cache.ts";
import type { Cache } from "./cache.ts";
import type { Pin, ToolId } from "./pins.ts";
import type { ProbeMemory } from "./probe.ts";

export interface Located {
  id: ToolId;
  /** The program's file name, without folder. */
  name: string;
  /** As the program reports it, without a leading "v". */
  version: string;
  /** Absolute. */
  path: string;
  source: "variable" | "path" | "cache" | "built";
}

export type Lookup =
  | { readonly kind: "found"; readonly located: Located }
  /** To be built; `damaged` says why the cache's copy cannot be used, where there is one. */
  | { readonly kind: "missing"; readonly damaged?: string }
  /** The variable names something that cannot serve. */
  | { readonly kind: "refused"; readonly problem: string };

function isExecutableFile(path: string): boolean {
  try {
    if (!statSync(path).isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Every executable of that name on PATH, in order, each file once. */
export function onPath(name: string, env: NodeJS.ProcessEnv): string[] {
  const found = new Map<string, string>();
  // An empty entry of PATH means the current folder; a program is not taken from wherever one happens to be.
  for (const folder of (env["PATH"] ?? "").split(delimiter).filter((one) => one !== "")) {
    const path = resolve(folder, name);
    if (!isExecutableFile(path)) continue;
    const real = realpathSync(path);
    if (!found.has(real)) found.set(real, path);
  }
  return [...found.values()];
}

/** Where Pulumi's CLI installs the plugin of exactly this version (pulumi/pulumi, sdk/go/common/workspace). */
function installedPlugin(pin: Pin, env: NodeJS.ProcessEnv): string[] {
  if (pin.query.kind !== "plugin") return [];
  const home = setting(env, "PULUMI_HOME") ?? join(setting(env, "HOME") ?? homedir(), ".pulumi");
  const folder = `${pin.name.replace(/^pulumi-/, "")}-v${pin.version}`;
  const path = join(home, "plugins", folder, pin.name);
  return isExecutableFile(path) ? [path] : [];
}

async function fromVariable(
  pin: Pin,
  memory: ProbeMemory,
  env: NodeJS.ProcessEnv,
): Promise<Lookup | undefined> {
  const value = setting(env, pin.variable);
  if (value === undefined) return undefined;
  const path = resolve(value);
  const wanted = `needs ${pin.name} ${pin.fits.text}; correct or unset ${pin.variable}`;
  const refuse = (what: string): Lookup => ({
    kind: "refused",
    problem: `${pin.variable}=${value}: ${what}; ${wanted}`,
  });
  if (!isExecutableFile(path)) return refuse("there is no executable file");
  const answer = await memory.ask(path, pin.query);
  if (answer.kind === "broken") return refuse(answer.reason);
  if (!pin.fits.accepts(answer.version)) return refuse(`it is version ${answer.text}`);
  return {
    kind: "found",
    located: { id: pin.id, name: pin.name, version: answer.text, path, source: "variable" },
  };
}

async function fromPath(
  pin: Pin,
  memory: ProbeMemory,
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
): Promise<Lookup | undefined> {
  for (const path of [...onPath(pin.name, env), ...installedPlugin(pin, env)]) {
    const answer = await memory.ask(path, pin.query);
    if (answer.kind === "broken") {
      note(`${pin.id}: passed over ${path}: it ${answer.reason}`);
    } else if (!pin.fits.accepts(answer.version)) {
      note(`${pin.id}: passed over ${path}: version ${answer.text}, needs ${pin.fits.text}`);
    } else {
      return {
        kind: "found",
        located: { id: pin.id, name: pin.name, version: answer.text, path, source: "path" },
      };
    }
  }
  return undefined;
}

export async function fromCache(pin: Pin, cache: Cache): Promise<Lookup> {
  const state = await lookInCache(cache, pin);
  if (state.kind === "absent") return { kind: "missing" };
  if (state.kind === "damaged") return { kind: "missing", damaged: state.reason };
  const { path, manifest } = state;
  return {
    kind: "found",
    located: { id: pin.id, name: pin.name, version: manifest.version, path, source: "cache" },
  };
}

export async function find(
  pin: Pin,
  cache: Cache,
  memory: ProbeMemory,
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
): Promise<Lookup> {
  return (
    (await fromVariable(pin, memory, env)) ??
    (await fromPath(pin, memory, env, note)) ??
    (await fromCache(pin, cache))
  );
}
