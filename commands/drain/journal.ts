/**
 * One line for each thing that happens to a pod, on disk before the next thing is done: so that a drain that was killed
 * knows what it has asked for, and the evidence of every eviction outlives the process that made it.
 */
import { appendFile, mkdir, readFile } from "node:fs/promises";
import path from "node:path";

export interface Entry {
  readonly at: string;
  readonly event: "asked" | "accepted" | "blocked" | "gone";
  readonly node: string;
  readonly pod: string;
  readonly uid: string;
  /** Kind and name of the controller, or null. */
  readonly owner: string | null;
  /** State of each budget on the pod at that moment, e.g. `web-pdb: 1 allowed, 3 healthy, 2 wanted`. */
  readonly budgets: readonly string[];
}

export class Journal {
  readonly file: string;
  readonly entries: Entry[];
  #writing: Promise<void> = Promise.resolve();
  #pending = "";

  private constructor(file: string, entries: Entry[]) {
    this.file = file;
    this.entries = entries;
  }

  static async open(file: string): Promise<Journal> {
    await mkdir(path.dirname(file), { recursive: true });
    const text = await readFile(file, "utf8").catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
      throw error;
    });
    // A kill may have cut the last line short: what comes next begins on a line of its own.
    if (text !== "" && !text.endsWith("\n")) await appendFile(file, "\n", { flush: true });
    const entries = text.split("\n").flatMap((line) => parseLine(line));
    return new Journal(file, entries);
  }

  /** Resolves when the line is on disk. */
  async write(entry: Entry): Promise<void> {
    this.entries.push(entry);
    this.#pending += `${JSON.stringify(entry)}\n`;
    // One write at a time, so that lines of evictions that run side by side never mix; what piles up meanwhile is
    // synced together, or a slow disk would set the pace of the drain.
    this.#writing = this.#writing.then(() => this.#flush());
    await this.#writing;
  }

  async #flush(): Promise<void> {
    const text = this.#pending;
    this.#pending = "";
    // Empty when an earlier write of the queue took this one's line with it. `flush` syncs before it resolves.
    if (text !== "") await appendFile(this.file, text, { flush: true });
  }
}

/** A line cut off by a kill is passed over: what it spoke of was not done yet, or is asked again with the same UID. */
function parseLine(line: string): Entry[] {
  if (line.trim() === "") return [];
  try {
    return [JSON.parse(line) as Entry];
  } catch {
    return [];
  }
}
