/**
 * One builder per tool, across processes.
 *
 * A lock is a file that names its owner. It appears complete, by link(2), which fails when the name is taken. The
 * lock of a dead process is taken over. It spares work only: publishing is one rename, so that even two builders
 * side by side could not harm each other.
 */
import { link, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "./cache.ts";
import { cacheFailure, errorCode } from "./errors.ts";
import { ownProcess, stateOf } from "./process.ts";
import type { Owner } from "./process.ts";

const pollMs = 200;
const heartbeatMs = 10_000;
/** An owner on another host can only be judged by its heartbeat. */
const silentMs = 60_000;

export interface Lock {
  readonly release: () => Promise<void>;
}

async function ownerOf(path: string): Promise<{ text: string; owner: Owner | undefined } | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && "pid" in value && typeof value.pid === "number") {
      return { text, owner: value as Owner };
    }
  } catch {
    // Not ours, or damaged by something else: no owner.
  }
  return { text, owner: undefined };
}

async function isStale(path: string, owner: Owner | undefined): Promise<boolean> {
  if (owner === undefined) return true;
  const state = stateOf(owner);
  if (state !== "unknown") return state === "dead";
  const file = await stat(path).catch(() => undefined);
  return file !== undefined && Date.now() - file.mtimeMs > silentMs;
}

/** Moves a dead owner's lock out of the way. Puts it back when another process was faster and it is a live one. */
async function breakLock(path: string, deadText: string): Promise<void> {
  const aside = `${path}.${ownProcess().pid}-${Date.now()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return;
    throw error;
  }
  if ((await readFile(aside, "utf8")) !== deadText) await link(aside, path).catch(() => undefined);
  await rm(aside, { force: true });
}

/**
 * @param folder where locks are kept
 * @param name of what is locked, a file name
 * @param onWait called once for each owner that is waited for
 * @param signal ends the waiting with the signal's reason
 */
export async function takeLock(
  folder: string,
  name: string,
  onWait: (owner: Owner) => void,
  signal: AbortSignal,
): Promise<Lock> {
  const path = join(folder, `${name}.lock`);
  const own = ownProcess();
  const text = `${JSON.stringify({ ...own, since: new Date().toISOString() })}\n`;
  const draft = `${path}.draft-${own.pid}-${Math.random().toString(36).slice(2)}`;
  let told: number | undefined;
  try {
    await makeFolder(folder);
    await writeFile(draft, text);
    for (;;) {
      signal.throwIfAborted();
      try {
        await link(draft, path);
        break;
      } catch (error) {
        if (errorCode(error) !== "EEXIST") throw error;
      }
      const held = await ownerOf(path);
      if (held === undefined) continue;
      if (await isStale(path, held.owner)) {
        await breakLock(path, held.text);
        continue;
      }
      if (held.owner !== undefined && told !== held.owner.pid) {
        told = held.owner.pid;
        onWait(held.owner);
      }
      await sleep(pollMs);
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw cacheFailure("lock", path, error);
  } finally {
    await rm(draft, { force: true }).catch(() => undefined);
  }

  const heartbeat = setInterval(() => {
    const now = new Date();
    // A missed beat is made up by the next.
    utimes(path, now, now).catch(() => undefined);
  }, heartbeatMs);
  heartbeat.unref();
  return {
    release: async () => {
      clearInterval(heartbeat);
      const held = await ownerOf(path).catch(() => undefined);
      if (held?.text === text) await rm(path, { force: true }).catch(() => undefined);
    },
  };
}
