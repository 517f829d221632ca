/** Small plans for tests: stages that do nothing, some of which cannot be undone. */
import type { Stage } from "../../plans/stage.ts";

export const WAY_BACK = "restore the snapshot";

export const stage = (name: string, undoable = true, more: Partial<Stage> = {}): Stage => ({
  name,
  does: `Does ${name}.`,
  gate: [],
  check: [],
  undo: undoable ? { possible: true, how: `${name} is undone` } : { possible: false, wayBack: WAY_BACK },
  sideEffects: [],
  ...more,
});

/** `a b c! d`: four stages, of which `c` cannot be undone. */
export const plan = (text: string): readonly Stage[] =>
  text.split(" ").map((word) => stage(word.replace("!", ""), !word.endsWith("!")));
