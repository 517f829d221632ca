import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { exchange, type Trust } from "./api.ts";
import { healthUrl } from "./components.ts";
import { messageOf } from "./errors.ts";
import { isAlive } from "./identity.ts";
import { type Component, type Layout } from "./layout.ts";
import { pkiOf } from "./pki.ts";
import { diedError, processOf } from "./process.ts";
import type { LabState } from "./state.ts";

async function trustOf(component: Component, layout: Layout): Promise<Trust | undefined> {
  const pki = pkiOf(layout);
  switch (component) {
    case "etcd": {
      const [ca, cert, key] = await Promise.all([
        readFile(pki.etcdCa.cert, "utf8"),
        readFile(pki.etcdClient.cert, "utf8"),
        readFile(pki.etcdClient.key, "utf8"),
      ]);
      return { ca, cert, key };
    }
    case "kwok":
      return undefined;
    default:
      return { ca: await readFile(pki.ca.cert, "utf8") };
  }
}

/** What a component answers about its health right now; `healthy` only when it says so itself. */
export async function probe(
  component: Component,
  layout: Layout,
  state: LabState,
  timeoutMs = 2000,
): Promise<{ healthy: boolean; answer: string }> {
  try {
    const trust = await trustOf(component, layout);
    const { status, text } = await exchange(healthUrl(component, state), { trust, timeoutMs });
    return { healthy: status === 200, answer: `${status} ${text.trim().replaceAll("\n", "; ")}` };
  } catch (error) {
    return { healthy: false, answer: messageOf(error) };
  }
}

/**
 * Waits until a component says it is healthy.
 * @throws LabError with the end of its log when it died, or is not healthy within `limitMs`.
 */
export async function waitHealthy(
  component: Component,
  layout: Layout,
  state: LabState,
  options: { limitMs: number; signal?: AbortSignal | undefined },
): Promise<void> {
  const deadline = Date.now() + options.limitMs;
  for (;;) {
    options.signal?.throwIfAborted();
    const { healthy, answer } = await probe(component, layout, state);
    if (healthy) return;
    const id = await processOf(layout, component);
    if (!id || !(await isAlive(id))) throw await diedError(layout, component, "exited while it was starting");
    if (Date.now() > deadline) {
      const seconds = options.limitMs / 1000;
      throw await diedError(layout, component, `is not healthy after ${seconds} s (last answer: ${answer})`);
    }
    await sleep(50);
  }
}
