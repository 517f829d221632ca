import { isLabFolder, removeFolder } from "./folder.ts";
import { COMPONENTS, layoutOf, type Layout } from "./layout.ts";
import { withLock } from "./lock.ts";
import { recordedProcesses, stop } from "./process.ts";

/** Time a process of a lab that is to be deleted gets to end by itself; its data is deleted right after. */
const GRACE_MS = 2000;

/** Stops every process the folder knows of: clients of the API before the API, etcd last. Returns the names of those that ran. */
export async function stopProcesses(layout: Layout): Promise<string[]> {
  const order: string[] = [...COMPONENTS].reverse();
  const known = [...(await recordedProcesses(layout)).keys()];
  const others = known.filter((name) => !order.includes(name));
  const stopped: string[] = [];
  for (const group of [
    [...others, "kwok", "kube-scheduler", "kube-controller-manager"],
    ["kube-apiserver"],
    ["etcd"],
  ]) {
    const ran = await Promise.all(
      group.map(async (name) => ((await stop(layout, name, GRACE_MS)) ? [name] : [])),
    );
    stopped.push(...ran.flat());
  }
  return stopped;
}

export interface StopResult {
  /** Names of the processes that were alive. */
  readonly stopped: readonly string[];
  /** Whether there was a lab in the folder at all. */
  readonly found: boolean;
}

/**
 * Ends the lab in a folder and deletes the folder (with `keepLogs`, all but its logs). Works on a lab that is
 * whole, half-started, half-stopped or whose driver was killed; on a folder without a lab it does nothing.
 */
export async function stopLab(dir: string, options: { keepLogs?: boolean } = {}): Promise<StopResult> {
  const layout = layoutOf(dir);
  if (!(await isLabFolder(layout))) return { stopped: [], found: false };
  const stopped = await withLock(layout, "`lab down`", async () => stopProcesses(layout));
  await removeFolder(layout, options.keepLogs ?? false);
  return { stopped, found: true };
}
