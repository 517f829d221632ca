/** What a bench hands back, and the arithmetic on it. */

export interface Figure {
  readonly name: string;
  /** `ratio` is a quotient of two figures of the same run. */
  readonly unit: "s" | "ms" | "MiB" | "requests" | "%" | "ratio";
  /** One value a run, in the order of the runs. */
  readonly values: readonly number[];
}

export interface BenchResult {
  readonly name: string;
  /** One sentence: what was compared with what. */
  readonly about: string;
  readonly settings: Readonly<Record<string, string | number>>;
  /** Load average over the last minute when it began: how much to trust what follows. */
  readonly loadAtStart: number;
  readonly tookSeconds: number;
  readonly figures: readonly Figure[];
}

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (index: number): number => sorted[index] ?? Number.NaN;
  const half = Math.floor(sorted.length / 2);
  const median = sorted.length % 2 === 1 ? at(half) : (at(half - 1) + at(half)) / 2;
  return { min: at(0), median, max: at(sorted.length - 1) };
}

/** Run by run: both values come from the same few minutes of the same machine. */
export function ratios(name: string, over: readonly number[], under: readonly number[]): Figure {
  return { name, unit: "ratio", values: over.map((value, run) => value / (under[run] ?? Number.NaN)) };
}
