/** Says what a rehearsal does while it does it, and keeps it: a table for people, JSON for machines. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";

export interface Step {
  readonly stage: string;
  readonly what: string;
  readonly passed: boolean;
  /** What was seen; of a failed step, why it failed. */
  readonly seen: string;
  readonly seconds: number;
}

export class Report {
  readonly title: string;
  readonly steps: Step[] = [];
  /** Facts worth a line: versions, sources of binaries. */
  readonly facts: [string, string][] = [];
  readonly #progress: (line: string) => void;
  readonly #signal: AbortSignal | undefined;

  constructor(title: string, progress: (line: string) => void, signal?: AbortSignal) {
    this.title = title;
    this.#progress = progress;
    this.#signal = signal;
  }

  fact(name: string, value: string): void {
    this.facts.push([name, value]);
    this.#progress(`${name}: ${value}`);
  }

  /** Runs one step and notes how it ended. A failure ends the rehearsal: what comes after would prove nothing. */
  async step(stage: string, what: string, run: () => Promise<string>): Promise<void> {
    this.#signal?.throwIfAborted();
    const started = performance.now();
    const seconds = (): number => Math.round((performance.now() - started) / 100) / 10;
    try {
      const seen = await run();
      this.#note({ stage, what, passed: true, seen, seconds: seconds() });
    } catch (error) {
      const seen = error instanceof Error ? error.message : String(error);
      this.#note({ stage, what, passed: false, seen, seconds: seconds() });
      throw error;
    }
  }

  get passed(): number {
    return this.steps.filter((step) => step.passed).length;
  }

  get failed(): number {
    return this.steps.length - this.passed;
  }

  /** Writes `rehearsal.md` and `rehearsal.json` into the folder. */
  async write(folder: string): Promise<void> {
    await mkdir(folder, { recursive: true });
    const { title, facts, steps } = this;
    await writeFile(
      path.join(folder, "rehearsal.json"),
      `${JSON.stringify({ title, facts, steps }, null, 2)}\n`,
    );
    await writeFile(path.join(folder, "rehearsal.md"), this.#markdown());
  }

  #note(step: Step): void {
    this.steps.push(step);
    const mark = step.passed ? "ok  " : "FAIL";
    this.#progress(
      `${mark} ${step.stage.padEnd(14)} ${step.what} (${step.seconds.toFixed(1)} s): ${step.seen}`,
    );
  }

  #markdown(): string {
    const cell = (text: string): string => (text.split("\n")[0] ?? "").replaceAll("|", "\\|");
    return [
      `# ${this.title}`,
      "",
      ...this.facts.map(([name, value]) => `- ${name}: ${value}`),
      "",
      "| stage | step | result | seconds | seen |",
      "| --- | --- | --- | ---: | --- |",
      ...this.steps.map(
        (step) =>
          `| ${step.stage} | ${step.what} | ${step.passed ? "ok" : "**failed**"} | ${step.seconds.toFixed(1)} | ${cell(step.seen)} |`,
      ),
      "",
      `${this.passed} passed, ${this.failed} failed`,
      "",
    ].join("\n");
  }
}
