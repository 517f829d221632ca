/** One thing that is wrong with what the user gave: where, what was seen, which rule it breaks, and the repair. */
export interface Problem {
  readonly path: string;
  readonly value: string;
  readonly rule: string;
  readonly repair: string;
}

/** An error that is meant for the reader as it stands: one message, no stack. */
export class LabError extends Error {
  readonly problems: readonly Problem[];

  constructor(message: string, problems: readonly Problem[] = []) {
    super(problems.length === 0 ? message : `${message}\n${problems.map(formatProblem).join("\n")}`);
    this.name = "LabError";
    this.problems = problems;
  }
}

function formatProblem(problem: Problem): string {
  return `  - ${problem.path}: ${problem.value}\n      rule: ${problem.rule}\n      repair: ${problem.repair}`;
}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The `code` of a system error (`ENOENT`, `EADDRINUSE` …), if it has one. */
export function codeOf(error: unknown): string | undefined {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return undefined;
}
