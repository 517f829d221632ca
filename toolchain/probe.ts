/** Asks a program that somebody else installed for its version, and remembers the answer. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { makeFolder } from "./cache.ts";
import type { Cache } from "./cache.ts";
import type { VersionQuery } from "./pins.ts";
import { askPluginVersion } from "./plugin-version.ts";
import { killGroup, ownProcess } from "./process.ts";
import { parseVersion } from "./versions.ts";
import type { Version } from "./versions.ts";

/** Generous: the first start of a 100 MB program from a cold disk of a busy machine. */
const usualLimitMs = 10_000;
const outputLimit = 4_000;

export type Probe =
  | { readonly kind: "version"; readonly version: Version; readonly text: string }
  | { readonly kind: "broken"; readonly reason: string };

/** What is remembered: the bare answer, so that a better pattern reads it anew. */
interface Answer {
  readonly output: string;
  /** Why there is no usable output, where that is so. */
  readonly failure?: string;
  /** A time limit says as much about the machine's load as about the program; it is asked again next time. */
  readonly timedOut?: true;
}

function lastLine(text: string): string {
  return text.trim().split("\n").at(-1)?.slice(0, 200) ?? "";
}

function start(path: string, args: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(path, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    // The only program here that would otherwise go online to answer is Pulumi's.
    env: { ...env, PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
}

function runForVersion(
  path: string,
  query: VersionQuery,
  env: NodeJS.ProcessEnv,
  limitMs: number,
): Promise<Answer> {
  return new Promise((resolve) => {
    let output = "";
    let settled = false;
    const child = start(path, query.kind === "command" ? query.args : [], env);
    const finish = (answer: Answer): void => {
      if (settled) return;
      settled = true;
      clearTimeout(timer);
      if (child.pid !== undefined) killGroup(child.pid, "SIGKILL");
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => {
      finish({ output, failure: `gave no version within ${limitMs / 1000} s`, timedOut: true });
    }, limitMs);
    const take = (chunk: Buffer): void => {
      if (output.length < outputLimit) output += chunk.toString();
    };
    child.stdout?.on("data", (chunk: Buffer) => {
      take(chunk);
      if (query.kind !== "plugin") return;
      // A plugin prints its port first, and then serves until it is ended.
      const port = /^(\d+)\s/m.exec(output)?.[1];
      if (port === undefined) return;
      askPluginVersion(Number(port), limitMs).then(
        (version) => {
          finish({ output: version });
        },
        (error: unknown) => {
          finish({ output, failure: `did not answer GetPluginInfo: ${String(error)}` });
        },
      );
    });
    child.stderr?.on("data", take);
    child.on("error", (error) => {
      finish({ output, failure: `cannot be run: ${error.message}` });
    });
    child.on("close", (code, signal) => {
      if (code === 0 && query.kind === "command") finish({ output });
      else
        finish({
          output,
          failure: `ended with ${signal ?? `exit code ${code ?? "?"}`}: ${lastLine(output)}`,
        });
    });
  });
}

function read(answer: Answer, query: VersionQuery): Probe {
  if (answer.failure !== undefined) return { kind: "broken", reason: answer.failure };
  const text = query.kind === "plugin" ? answer.output : query.pattern.exec(answer.output)?.[1];
  const version = text === undefined ? undefined : parseVersion(text);
  if (text === undefined || version === undefined) {
    return { kind: "broken", reason: `says no version that is understood: "${lastLine(answer.output)}"` };
  }
  return { kind: "version", version, text: text.replace(/^v/, "") };
}

/** Asks now, remembering nothing. */
export async function probe(
  path: string,
  query: VersionQuery,
  env: NodeJS.ProcessEnv,
  limitMs = usualLimitMs,
): Promise<Probe> {
  return read(await runForVersion(path, query, env, limitMs), query);
}

type Remembered = Record<string, Answer>;

/** Probes with a memory of files that have not changed since (path, size, times, inode). */
export class ProbeMemory {
  readonly #cache: Cache;
  readonly #env: NodeJS.ProcessEnv;
  readonly #before: Promise<Remembered>;
  readonly #now: Remembered = {};
  #learned = false;

  constructor(cache: Cache, env: NodeJS.ProcessEnv) {
    this.#cache = cache;
    this.#env = env;
    this.#before = readMemory(cache.probes);
  }

  async ask(path: string, query: VersionQuery): Promise<Probe> {
    const file = await stat(path);
    const args = query.kind === "command" ? query.args.join(" ") : "plugin";
    const key = [path, args, file.size, file.mtimeMs, file.ctimeMs, file.ino].join("|");
    const known = (await this.#before)[key];
    const answer = known ?? (await runForVersion(path, query, this.#env, usualLimitMs));
    if (known === undefined) this.#learned = true;
    if (answer.timedOut !== true) this.#now[key] = answer;
    return read(answer, query);
  }

  /** Keeps what was asked for, and drops the rest. A memory that cannot be kept only costs time. */
  async save(): Promise<void> {
    if (!this.#learned) return;
    const path = this.#cache.probes;
    const draft = `${path}.${ownProcess().pid}-${Date.now()}`;
    try {
      await makeFolder(dirname(path));
      const all = { ...(await readMemory(path)), ...this.#now };
      // Bounded: the files of a few tools on a few PATHs; the oldest go first.
      const kept = Object.fromEntries(Object.entries(all).slice(-200));
      await writeFile(draft, `${JSON.stringify(kept, null, 1)}\n`);
      await rename(draft, path);
    } catch {
      return;
    }
  }
}

async function readMemory(path: string): Promise<Remembered> {
  try {
    const value: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Remembered;
  } catch {
    // None yet, or not readable: everything is asked anew.
  }
  return {};
}
