import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./errors.ts";

/** Writes a file so that a reader sees the old text or the new one, never a half: temporary file, then rename. */
export async function writeAtomic(path: string, text: string, mode = 0o600): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, text, { mode });
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The file's text, or undefined when there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The last `lines` lines of a file (of its last 16 KiB), or "" when there is none. */
export async function tail(path: string, lines: number): Promise<string> {
  const window = 16 * 1024;
  let file;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return "";
    throw error;
  }
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - window);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, window)), 0, undefined, from);
    return buffer.subarray(0, bytesRead).toString("utf8").trimEnd().split("\n").slice(-lines).join("\n");
  } finally {
    await file.close();
  }
}
