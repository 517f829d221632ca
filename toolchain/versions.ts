/** Versions as programs print them, and what "fits" means for a tool. */

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** What follows the patch, without the leading mark: "rc.1", "eks-113cf36", "k3s1". */
  readonly suffix: string | undefined;
}

export interface Fit {
  /** For people, as in "needs 1.34.x". */
  readonly text: string;
  readonly accepts: (version: Version) => boolean;
}

const pattern = /^v?(\d+)\.(\d+)\.(\d+)(?:[-+](.+))?$/;

/** Reads "v1.34.4", "3.6.16", "v1.34.1-eks-113cf36"; undefined when the text is no version. */
export function parseVersion(text: string): Version | undefined {
  const found = pattern.exec(text.trim());
  if (found === null) return undefined;
  const [, major, minor, patch, suffix] = found;
  return { major: Number(major), minor: Number(minor), patch: Number(patch), suffix };
}

/** Vendors put their build after the version (`-eks-…`, `+k3s1`); only these marks say "not released yet". */
function isPreRelease(version: Version): boolean {
  return /^(alpha|beta|rc|dev)\b/.test(version.suffix ?? "");
}

export function compareVersions(a: Version, b: Version): number {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch;
}

/** Any released patch of one of these minors. */
export function minors(major: number, ...wanted: number[]): Fit {
  return {
    text: wanted.map((minor) => `${major}.${minor}.x`).join(" or "),
    accepts: (v) => v.major === major && wanted.includes(v.minor) && !isPreRelease(v),
  };
}

/** This release or a later one of the same major. */
export function atLeast(lowest: string): Fit {
  const floor = parseVersion(lowest);
  if (floor === undefined) throw new TypeError(`not a version: ${lowest}`);
  return {
    text: `${lowest} or later, below ${floor.major + 1}.0.0`,
    accepts: (v) => v.major === floor.major && compareVersions(v, floor) >= 0 && !isPreRelease(v),
  };
}

/** This release and no other. */
export function exactly(wanted: string): Fit {
  const only = parseVersion(wanted);
  if (only === undefined) throw new TypeError(`not a version: ${wanted}`);
  return {
    text: `exactly ${wanted}`,
    accepts: (v) => compareVersions(v, only) === 0 && v.suffix === only.suffix,
  };
}
