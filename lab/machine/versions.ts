/** `1.34` of `v1.34.4`, `1.34.4-1.1` or `v1.34.1-eks-113cf36`. */
export function minorOf(version: string): string {
  return /^v?(\d+\.\d+)/u.exec(version)?.[1] ?? version;
}

/** `34` of `v1.34.4`. */
export function minorNumber(version: string): number {
  return Number(minorOf(version).split(".")[1]);
}

/** `v1.34.4`, whether the program's version was given with a `v` or without. */
export function withV(version: string): string {
  return `v${version.replace(/^v/u, "")}`;
}

/** Order of two released versions by their three numbers. */
export function compare(a: string, b: string): number {
  const numbers = (version: string): number[] => (version.match(/\d+/gu) ?? []).slice(0, 3).map(Number);
  const [left, right] = [numbers(a), numbers(b)];
  for (let index = 0; index < 3; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
