/** "Did you mean …?": the nearest of the names that would have been right. */

/**
 * Edit distance in which an insertion, a deletion, a substitution or a swap of two neighbours counts one
 * (optimal string alignment). Case counts: Kubernetes names are lower case, so a wrong case is a real mistake.
 */
export function editDistance(a: string, b: string): number {
  const left = Array.from(a);
  const right = Array.from(b);
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      let best = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (swapped) best = Math.min(best, at(beforeLast, j - 2) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, right.length);
}

/**
 * The name nearest to `wrong`, or null when none is near enough to be a slip of the hand (a third of the length,
 * at least one letter). Among equally near ones the first given wins. A right name is its own suggestion.
 */
export function nearest(wrong: string, names: Iterable<string>): string | null {
  let best: string | null = null;
  let bestDistance = Infinity;
  for (const name of names) {
    const limit = Math.max(1, Math.floor(Math.max(wrong.length, name.length) / 3));
    if (Math.abs(wrong.length - name.length) > limit) continue;
    // The case alone is the commonest slip, and must not cost as much as other letters.
    const distance =
      wrong.toLowerCase() === name.toLowerCase() && wrong !== name ? 0.5 : editDistance(wrong, name);
    if (distance <= limit && distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` (did you mean "x"?)`, or nothing when no name is near. To be put behind the wrong value in a message. */
export function didYouMean(wrong: string, names: Iterable<string>): string {
  const found = nearest(wrong, names);
  return found === null || found === wrong ? "" : ` (did you mean "${found}"?)`;
}

const at = (row: readonly number[], index: number): number => row[index] ?? 0;
