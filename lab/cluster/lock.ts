import { mkdir, rm, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { codeOf, LabError } from "./errors.ts";
import { readIfThere } from "./files.ts";
import { formatProcessId, isAlive, parseProcessId, self } from "./identity.ts";
import type { Layout } from "./layout.ts";

/**
 * Runs `work` as the only one that starts or stops processes of this lab. A lock whose holder is dead (a driver
 * that was killed) is taken over. Whoever comes second is refused, not queued: `lab down` during `lab up` is a
 * mistake or a wish to interrupt, and Ctrl-C is the way to interrupt.
 */
export async function withLock<T>(layout: Layout, purpose: string, work: () => Promise<T>): Promise<T> {
  const path = resolve(layout.run, "lock");
  await mkdir(layout.run, { recursive: true });
  const me = await self();
  for (let attempt = 0; ; attempt++) {
    try {
      await writeFile(path, `${formatProcessId(me)}${purpose}\n`, { flag: "wx", mode: 0o600 });
      break;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const text = await readIfThere(path);
    const holder = text === undefined ? undefined : parseProcessId(text);
    if ((holder && (await isAlive(holder))) || attempt >= 20) {
      const what = text?.split("\n")[2] ?? "another command";
      throw new LabError(
        `${what} (pid ${holder?.pid ?? "unknown"}) is at work on the lab in ${layout.dir}; wait for it, or interrupt it with Ctrl-C, then try again`,
      );
    }
    // The holder is dead, or was between making the file and writing it; look at the same text again before removing.
    if ((await readIfThere(path)) === text) await rm(path, { force: true });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}
