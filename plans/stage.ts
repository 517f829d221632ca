/** What a stage is, for every plan: data that preview shows, commands follow and documents are made from. */
import type { Requirement } from "../analysis/conditions/index.ts";

export type Undo =
  | { readonly possible: true; /** What going back does. */ readonly how: string }
  | { readonly possible: false; /** The only way back there is. */ readonly wayBack: string };

export interface Stage {
  /** Unique in its plan; the value of the config key `stage`. */
  readonly name: string;
  /** One sentence: what it does. */
  readonly does: string;
  /** What must be true before it changes anything. */
  readonly gate: readonly Requirement[];
  /** What must be true after it. */
  readonly check: readonly Requirement[];
  readonly undo: Undo;
  /** It only reads: coming back to it, its commands run again instead of being history. */
  readonly rereads?: boolean;
  /** What happens that no diff shows. */
  readonly sideEffects: readonly string[];
}

/** Where a stack is. */
export interface Position {
  /** The stage last applied in full: the stack's own last outputs. Null for a new stack. */
  readonly applied: string | null;
  /** The stage last begun: the record in the cluster. Null when there is no record. */
  readonly begun: string | null;
  /** A way back to `begun` that was not finished: the stages that it undoes, in that order. Else empty. */
  readonly undoing: readonly string[];
}
