/** What every bench is given. */
export interface BenchContext {
  /** The project's folder. */
  readonly project: string;
  /** Folder for labs and what belongs to them; each bench makes its own below it. Removed at the end. */
  readonly labs: string;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}
