/** Finds or builds the programs asked for. */
import { setTimeout as sleep } from "node:timers/promises";
import { build, discard, fetchStages, sweep } from "./build.ts";
import type { Workshop } from "./build.ts";
import { cacheOf } from "./cache.ts";
import type { Cache } from "./cache.ts";
import { cacheFailure, ToolchainError, ToolchainInterrupted } from "./errors.ts";
import { find, fromCache } from "./find.ts";
import type { Located, Lookup } from "./find.ts";
import { findGo } from "./go.ts";
import { takeLock } from "./lock.ts";
import { pinOf } from "./pins.ts";
import type { Pin, ToolId } from "./pins.ts";
import { ProbeMemory } from "./probe.ts";
import type { Owner } from "./process.ts";
import { findStages, stagesEntryName, stagesVariable } from "./stages.ts";

export interface EnsureOptions {
  /** Given one line for people at a time, without newline. */
  progress?: (line: string) => void;
  env?: NodeJS.ProcessEnv;
  /** Ends waiting and building; nothing half-done stays behind. */
  signal?: AbortSignal;
}

type Progress = (line: string) => void;

const tickMs = 15_000;

/** Where each tool would come from, without building any. */
export async function survey(
  pins: readonly Pin[],
  env: NodeJS.ProcessEnv,
  note: Progress,
): Promise<ReadonlyMap<ToolId, Lookup>> {
  const cache = cacheOf(env);
  const memory = new ProbeMemory(cache, env);
  const lookups = await Promise.all(
    pins.map(async (pin) => [pin.id, await find(pin, cache, memory, env, note)] as const),
  );
  await memory.save();
  return new Map(lookups);
}

interface Work {
  /** For people and for the lock's name. */
  readonly label: string;
  readonly pin: Pin;
  readonly from: string;
  /** Looks again, now that the lock is held. */
  readonly ready: () => Promise<Located | true | undefined>;
  readonly make: (shop: Workshop) => Promise<Located | true>;
}

function buildWork(pin: Pin, cache: Cache): Work {
  return {
    label: `${pin.name}-${pin.version}`,
    pin,
    from: `${pin.module} ${pin.moduleVersion}, checksums in ${pin.checksums}`,
    ready: async () => {
      const again = await fromCache(pin, cache);
      if (again.kind === "found") return again.located;
      if (again.kind === "missing" && again.damaged !== undefined) await discard(pin, cache);
      return undefined;
    },
    make: (shop) => build(pin, shop),
  };
}

function stagesWork(kwok: Located, cache: Cache, env: NodeJS.ProcessEnv): Work {
  const pin = pinOf("kwok");
  return {
    label: stagesEntryName(),
    pin,
    from: `${pin.module} ${pin.moduleVersion}, checksums in ${pin.checksums}`,
    ready: () => Promise.resolve(findStages(kwok, cache, env) === undefined ? undefined : true),
    make: async (shop) => {
      await fetchStages(shop);
      return true;
    },
  };
}

/** Everything that is missing, and each way to get it, at once. */
function withoutGo(works: readonly Work[], reason: string, install: string): ToolchainError {
  const ways = works.map(({ label, pin, from }) => {
    const other = label.startsWith("kwok-stages")
      ? `or name a copy of kwok's kustomize/stage folder by ${stagesVariable}`
      : `or put ${pin.name} ${pin.fits.text} on PATH, or name it by ${pin.variable}`;
    return `  ${label.startsWith("kwok-stages") ? "kwok's stages" : pin.id}: from ${from};\n      ${other}`;
  });
  return new ToolchainError(
    [
      `${works.length} of the tools are neither installed nor in the cache, and cannot be built: ${reason}.`,
      `Install ${install}, or provide the tools themselves:`,
      ...ways,
    ].join("\n"),
  );
}

function waitingFor(owner: Owner): string {
  return `waiting for process ${owner.pid}, which is at it`;
}

async function carryOut(work: Work, at: string, shop: Workshop, progress: Progress): Promise<Located | true> {
  const name = `[${at}] ${work.label}`;
  const lock = await takeLock(
    shop.cache.locks,
    work.label,
    (owner) => {
      progress(`${name}: ${waitingFor(owner)}`);
    },
    shop.signal,
  );
  const started = performance.now();
  const seconds = (): number => Math.round((performance.now() - started) / 1000);
  const finished = new AbortController();
  try {
    const ready = await work.ready();
    if (ready !== undefined) {
      progress(`${name}: in the cache by now`);
      return ready;
    }
    progress(`${name}: building from ${work.from}`);
    const ticking = (async () => {
      for (;;) {
        await sleep(tickMs, undefined, { signal: finished.signal, ref: false });
        progress(`${name}: building, ${seconds()} s`);
      }
    })().catch(() => undefined);
    try {
      const made = await work.make(shop);
      progress(`${name}: built in ${seconds()} s${made === true ? "" : `: ${made.path}`}`);
      return made;
    } finally {
      finished.abort();
      await ticking;
    }
  } finally {
    await lock.release();
  }
}

const endings = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * While something is built the usual signals stop it first: go runs in a process group of its own, which the
 * terminal's Ctrl-C does not reach. Then the signal has the effect that it would have had.
 */
async function interruptible<T>(
  outer: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const inner = new AbortController();
  let caught: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    caught ??= signal;
    inner.abort(new ToolchainInterrupted(`stopped by ${signal}; nothing half-built was left`));
  };
  const onOuter = (): void => {
    inner.abort(new ToolchainInterrupted("stopped; nothing half-built was left"));
  };
  if (outer?.aborted === true) onOuter();
  outer?.addEventListener("abort", onOuter, { once: true });
  for (const signal of endings) process.on(signal, onSignal);
  try {
    return await work(inner.signal);
  } catch (error) {
    throw inner.signal.aborted ? inner.signal.reason : error;
  } finally {
    outer?.removeEventListener("abort", onOuter);
    for (const signal of endings) process.removeListener(signal, onSignal);
    if (caught !== undefined && process.listenerCount(caught) === 0) process.kill(process.pid, caught);
  }
}

function summary(located: readonly Located[], missing: number): string {
  const count = (source: Located["source"]): number => located.filter((one) => one.source === source).length;
  const parts = [
    [count("variable"), "named by a variable"],
    [count("path"), "on PATH"],
    [count("cache"), "in the cache"],
    [missing, "to build"],
  ].filter(([n]) => n !== 0);
  const total = located.length + missing;
  return `${total} ${total === 1 ? "tool" : "tools"}: ${parts.map(([n, what]) => `${n} ${what}`).join(", ")}`;
}

/**
 * Gives each tool's program: the one that its variable names, else a fitting one from PATH, else the cache's, else
 * one built now from its pinned module. Safe to run side by side, and to kill.
 *
 * @throws ToolchainError one message with every problem: variables that name something unfit, tools that cannot be
 *   built because Go is missing or too old, a build that failed, a cache that cannot be written
 * @throws ToolchainInterrupted when the signal is aborted
 */
export async function ensure(
  ids: readonly ToolId[],
  options: EnsureOptions = {},
): Promise<ReadonlyMap<ToolId, Located>> {
  const env = options.env ?? process.env;
  const progress = options.progress ?? (() => undefined);
  const pins = [...new Set(ids)].map(pinOf);
  const cache = cacheOf(env);
  const lookups = await survey(pins, env, progress);

  const refused = [...lookups.values()].flatMap((one) => (one.kind === "refused" ? [one.problem] : []));
  if (refused.length > 0) throw new ToolchainError(refused.join("\n"));

  const result = new Map<ToolId, Located>();
  const works: Work[] = [];
  for (const pin of pins) {
    const lookup = lookups.get(pin.id);
    if (lookup?.kind === "found") {
      result.set(pin.id, lookup.located);
      if (pin.id === "kwok" && findStages(lookup.located, cache, env) === undefined) {
        works.push(stagesWork(lookup.located, cache, env));
      }
    } else {
      if (lookup?.kind === "missing" && lookup.damaged !== undefined) {
        progress(`${pin.id}: to be built again: ${lookup.damaged}`);
      }
      works.push(buildWork(pin, cache));
    }
  }
  progress(summary([...result.values()], pins.length - result.size));
  if (works.length === 0) return result;

  const looked = await findGo(
    works.map((work) => work.pin),
    env,
  );
  if (looked.kind === "none") throw withoutGo(works, looked.reason, looked.install);
  await sweep(cache).catch((error: unknown) => {
    throw cacheFailure("clean up", cache.building, error);
  });
  return interruptible(options.signal, async (signal) => {
    const shop: Workshop = { cache, go: looked.go, env, signal };
    for (const [index, work] of works.entries()) {
      const made = await carryOut(work, `${index + 1}/${works.length}`, shop, progress);
      if (made !== true) result.set(work.pin.id, made);
    }
    // In the order asked for, whatever was built last.
    return new Map(pins.flatMap(({ id }) => [[id, result.get(id)] as const]).filter(isLocated));
  });
}

function isLocated(pair: readonly [ToolId, Located | undefined]): pair is readonly [ToolId, Located] {
  return pair[1] !== undefined;
}
