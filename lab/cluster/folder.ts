import { mkdir, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { codeOf, LabError } from "./errors.ts";
import type { Layout } from "./layout.ts";

/** In every lab's folder from its first moment: only a folder with this file is ever emptied. */
const MARKER = ".cluster-migration-lab";
const MARKER_TEXT = "This folder belongs to a lab; `lab down` deletes what is in it.\n";

async function entriesOf(dir: string): Promise<string[] | undefined> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (codeOf(error) === "ENOTDIR") {
      throw new LabError(`${dir} is a file; name a folder of the lab's own with --dir`);
    }
    throw error;
  }
}

/** Whether a lab is, or was, in this folder. */
export async function isLabFolder(layout: Layout): Promise<boolean> {
  return (await entriesOf(layout.dir))?.includes(MARKER) ?? false;
}

/**
 * Makes the folder the lab's.
 * @throws LabError when it holds something that no lab put there.
 */
export async function claimFolder(layout: Layout): Promise<void> {
  const entries = (await entriesOf(layout.dir)) ?? [];
  if (entries.length > 0 && !entries.includes(MARKER)) {
    throw new LabError(
      `${layout.dir} is not empty and no lab made it (there is no ${MARKER} in it); name another folder with --dir, so that \`lab down\` cannot delete what is yours`,
    );
  }
  try {
    await mkdir(layout.dir, { recursive: true, mode: 0o700 });
    await writeFile(resolve(layout.dir, MARKER), MARKER_TEXT);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EACCES" || code === "EROFS" || code === "EPERM") {
      throw new LabError(
        `cannot write into ${layout.dir} (${code}); name a folder you may write to with --dir`,
      );
    }
    throw error;
  }
}

/** Removes everything a lab made but its logs and, while someone works on it, `run/`. */
export async function wipeData(layout: Layout): Promise<void> {
  const made = [
    layout.pki,
    layout.etcd,
    layout.etc,
    layout.machines,
    layout.kubeconfig,
    layout.state,
    layout.faults,
    layout.repository,
  ];
  await Promise.all(made.map((path) => rm(path, { recursive: true, force: true })));
}

/** Removes the folder; with `keepLogs` all but the logs. Files that others put there stay, and so does the folder then. */
export async function removeFolder(layout: Layout, keepLogs: boolean): Promise<void> {
  await wipeData(layout);
  await rm(layout.run, { recursive: true, force: true });
  if (keepLogs) return;
  await rm(layout.logs, { recursive: true, force: true });
  await rm(resolve(layout.dir, MARKER), { force: true });
  try {
    await rmdir(layout.dir);
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOTEMPTY" && code !== "ENOENT") throw error;
  }
}
