/** Files that are whole or not there: written beside, synced, renamed. */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import path from "node:path";
import { pipeline } from "node:stream/promises";

export async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  const beside = `${file}.${process.pid}.part`;
  const handle = await open(beside, "w", 0o644);
  try {
    await handle.writeFile(text, "utf8");
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(beside, file);
}

export function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

export async function sha256OfFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}
