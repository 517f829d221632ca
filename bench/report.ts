/** The figures as a table for people and as JSON for machines. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Machine } from "./machine.ts";
import { spread, type BenchResult, type Figure } from "./result.ts";

export function table(result: BenchResult): string {
  const rows = result.figures.map((figure) => {
    const { min, median, max } = spread(figure.values);
    return [
      figure.name,
      ...[min, median, max].map((value) => show(value, figure.unit)),
      figure.values.map((value) => show(value, figure.unit)).join(", "),
    ];
  });
  const head = ["figure", "min", "median", "max", "run by run"];
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

export function markdown(machine: Machine, results: readonly BenchResult[]): string {
  const { cores, memoryGiB, processor, platform, loadAtStart, versions } = machine;
  return [
    "# Benchmarks",
    "",
    `${cores} cores (${processor}, ${platform}), ${memoryGiB} GiB; load ${loadAtStart.toFixed(2)} at the start.`,
    "",
    Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", "),
    ...results.flatMap((result) => [
      "",
      `## ${result.name}`,
      "",
      result.about,
      "",
      [
        ...Object.entries(result.settings).map(([key, value]) => `${key}: ${value}`),
        `load at its start: ${result.loadAtStart.toFixed(2)}`,
        `took ${result.tookSeconds.toFixed(0)} s`,
      ].join("; "),
      "",
      table(result),
    ]),
    "",
  ].join("\n");
}

export async function write(
  folder: string,
  machine: Machine,
  results: readonly BenchResult[],
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const withSpread = results.map((result) => ({
    ...result,
    figures: result.figures.map((figure) => ({ ...figure, ...spread(figure.values) })),
  }));
  const document = { takenAt: new Date().toISOString(), machine, results: withSpread };
  await writeFile(path.join(folder, "bench.json"), `${JSON.stringify(document, undefined, 2)}\n`);
  await writeFile(path.join(folder, "bench.md"), markdown(machine, results));
}

function show(value: number, unit: Figure["unit"]): string {
  if (!Number.isFinite(value)) return "-";
  if (unit === "ratio") return `${value >= 100 ? value.toFixed(0) : value.toFixed(2)}x`;
  if (unit === "%") return `${Math.round(value)} %`;
  if (unit === "requests") return String(Math.round(value));
  return `${value >= 100 ? value.toFixed(0) : value.toPrecision(3)} ${unit}`;
}
