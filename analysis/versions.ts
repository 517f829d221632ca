/**
 * Kubernetes versions as API servers, kubelets and people write them.
 *
 * Strict semver reads `v1.29.0-eks-036c24b` as older than 1.29.0. Vendors put their build mark there, so only
 * `alpha`, `beta` and `rc` make a version a pre-release here (helm/helm#10375, aws/eks-distro#512).
 */

import { editDistance } from "./suggest.ts";

/** Release line, the unit in which the version-skew policy counts. */
export interface Minor {
  readonly major: number;
  readonly minor: number;
}

export interface PreRelease {
  readonly stage: "alpha" | "beta" | "rc";
  /** `alpha.2` is `[2]`; a build 17 commits later, `alpha.2.17`, is `[2, 17]`. */
  readonly numbers: readonly number[];
}

export interface Version extends Minor {
  /** Null where only a release line was written (`1.34`, `1.21+`). Compares as 0. */
  readonly patch: number | null;
  /** Null for a release, whatever mark a vendor added. */
  readonly preRelease: PreRelease | null;
  /** What a vendor or a build added, with its sign: `-eks-8df270`, `+k3s1`, `-gke.1589018`, `+6143dea`; else empty. */
  readonly vendor: string;
  /** As it was written. */
  readonly text: string;
}

/** Thrown by {@link parseVersion}; `text` is what could not be read. */
export class VersionError extends Error {
  readonly text: string;
  constructor(text: string, why: string) {
    super(`${JSON.stringify(text)} is not a Kubernetes version: ${why}`);
    this.name = "VersionError";
    this.text = text;
  }
}

export type VersionResult =
  { readonly ok: true; readonly version: Version } | { readonly ok: false; readonly error: VersionError };

// "1.21+" is how managed services report a line whose patch level is their own.
const NUMBER = "(0|[1-9][0-9]{0,8})";
const CORE = new RegExp(`^v?${NUMBER}\\.${NUMBER}(?:\\.${NUMBER}|\\+(?=$))?([-+].*)?$`);
const PRE = /^-(alpha|beta|rc)[.-]?([0-9]+(?:\.[0-9]+)*)?(?=$|[-+.])/;
const VENDOR = /^(?:[-+][0-9A-Za-z]+(?:[-+.~_][0-9A-Za-z]+)*)?$/;

/** The form that does not throw. Surrounding blanks are an error: trim what came from a command's output. */
export function readVersion(text: string): VersionResult {
  const bad = (why: string): VersionResult => ({ ok: false, error: new VersionError(text, why) });
  const core = CORE.exec(text);
  if (core === null) return bad(howToWrite(text));
  const [, major = "", minor = "", patch, suffix = ""] = core;
  if (patch === undefined && suffix !== "")
    return bad("a mark needs a patch number before it, as in v1.34.4-rc.1");
  const pre = PRE.exec(suffix);
  const vendor = pre === null ? suffix : suffix.slice(pre[0].length);
  if (!VENDOR.test(vendor))
    return bad(`its suffix ${JSON.stringify(suffix)} has letters that no version has`);
  return {
    ok: true,
    version: {
      major: Number(major),
      minor: Number(minor),
      patch: patch === undefined ? null : Number(patch),
      preRelease:
        pre === null
          ? null
          : { stage: stageOf(pre[1] ?? ""), numbers: (pre[2] ?? "0").split(".").map((part) => Number(part)) },
      vendor,
      text,
    },
  };
}

/** @throws VersionError when the text is no version. */
export function parseVersion(text: string): Version {
  const result = readVersion(text);
  if (!result.ok) throw result.error;
  return result.version;
}

/** The number of a `minor` field, e.g. `"21+"` is 21. @throws VersionError */
export function parseMinorField(text: string): number {
  if (!/^(0|[1-9][0-9]{0,8})\+?$/.test(text))
    throw new VersionError(text, 'a minor is a number, such as "34" or "21+"');
  return Number.parseInt(text, 10);
}

const toVersion = (version: Version | string): Version =>
  typeof version === "string" ? parseVersion(version) : version;

/** Release line of a version; a line stays itself. @throws VersionError on a text that is no version. */
export function minorOf(version: Minor | string): Minor {
  const { major, minor } = typeof version === "string" ? parseVersion(version) : version;
  return { major, minor };
}

/** Negative, 0 or positive, as `Array.sort` wants it. */
export function compareMinors(a: Minor, b: Minor): number {
  return a.major - b.major || a.minor - b.minor;
}

/**
 * Order of releases: numbers, then alpha < beta < rc < release. A vendor's mark does not count (it says who built the
 * version, not which one it is), and a missing patch counts as 0. @throws VersionError
 */
export function compareVersions(left: Version | string, right: Version | string): number {
  const a = toVersion(left);
  const b = toVersion(right);
  return (
    compareMinors(a, b) || (a.patch ?? 0) - (b.patch ?? 0) || comparePreReleases(a.preRelease, b.preRelease)
  );
}

/** Is `version` the wanted one or newer? A pre-release of the wanted version is not. @throws VersionError */
export function atLeast(version: Version | string, wanted: Version | string): boolean {
  return compareVersions(version, wanted) >= 0;
}

/** True also where only the vendor's build is a pre-release (`v1.29.4+k3s1-rc1`): not for a live cluster either. */
export function isPreRelease(version: Version | string): boolean {
  const read = toVersion(version);
  return read.preRelease !== null || /(?:^|[-+.])(?:alpha|beta|rc)[0-9]*(?:$|[-+.])/.test(read.vendor);
}

/** `1.34`, the form of the skew answers. */
export function formatMinor({ major, minor }: Minor): string {
  return `${major}.${minor}`;
}

/** `v1.34.4`, with pre-release and vendor marks; `v1.34` where no patch is known. Reads back as an equal version. */
export function formatVersion(version: Version): string {
  const { patch, preRelease, vendor } = version;
  const pre = preRelease === null ? "" : `-${preRelease.stage}.${preRelease.numbers.join(".")}`;
  return `v${formatMinor(version)}${patch === null ? "" : `.${patch}`}${pre}${vendor}`;
}

/** The line `steps` minors later (or earlier, never below 0). */
export function shiftMinor({ major, minor }: Minor, steps: number): Minor {
  return { major, minor: Math.max(0, minor + steps) };
}

/**
 * A version that was meant, when `target` is no step one can take from `current` but differs from such a step by a lost,
 * doubled or swapped digit: `1.3.1` at 1.29.5 was 1.30.1 (siderolabs/talos#8849). Null when it looks deliberate.
 */
export function meantVersion(target: Version, current: Version): string | null {
  const written = formatMinor(target);
  const next = shiftMinor(current, 1);
  // A lost zero is the likeliest slip, since YAML does it by itself.
  const present = minorOf(current);
  const steps = formatMinor(present) === `${written}0` ? [present, next] : [next, present];
  if (steps.some((step) => formatMinor(step) === written)) return null;
  for (const step of steps) {
    const right = formatMinor(step);
    // A digit replaced by another (1.31 for 1.30) is a decision, not a slip.
    const sameLength = right.length === written.length;
    const swapped = sameLength && sorted(right) === sorted(written);
    if (editDistance(right, written) !== 1 || (sameLength && !swapped)) continue;
    const meant = target.patch === null ? right : `${right}.${target.patch}`;
    const isStep = compareMinors(step, current) > 0 || target.patch === null || atLeast(meant, current);
    if (isStep) return meant;
  }
  return null;
}

export type ConfigVersion =
  | { readonly ok: true; readonly version: Version }
  | { readonly ok: false; readonly message: string; readonly repair: string };

/**
 * A version out of a config file, of any type. YAML reads an unquoted `1.30` as the number 1.3, so every number is
 * refused, also one that happens to survive. With `needsPatch` a bare release line is refused too.
 */
export function versionFromConfig(
  value: unknown,
  options: { readonly needsPatch?: boolean; readonly current?: string } = {},
): ConfigVersion {
  const bad = (message: string, repair: string): ConfigVersion => ({ ok: false, message, repair });
  const current = options.current === undefined ? null : readVersion(options.current);
  if (typeof value === "number") {
    // Only trailing zeros get lost on the way through a number.
    const example = /^[0-9]+\.[0-9]$/.test(String(value)) ? `${value}0` : String(value);
    return bad(
      `${value} is a number: YAML reads an unquoted 1.30 as 1.3`,
      `write the version in quotes, e.g. "${example}"`,
    );
  }
  if (typeof value !== "string") {
    const kind = value === null ? "null" : Array.isArray(value) ? "a list" : typeof value;
    return bad(`a version is a text, and this is ${kind}`, 'write it in quotes, e.g. "1.34.4"');
  }
  const read = readVersion(value);
  if (!read.ok) return bad(read.error.message, 'write it in quotes and in full, e.g. "1.34.4"');
  const meant = current?.ok === true ? meantVersion(read.version, current.version) : null;
  if (meant !== null) return bad(`${value} cannot follow ${options.current ?? ""}`, `did you mean ${meant}?`);
  if (options.needsPatch === true && read.version.patch === null) {
    return bad(
      `${value} names a release line, not a version`,
      `name the patch release too, e.g. "${value}.0"`,
    );
  }
  return { ok: true, version: read.version };
}

function comparePreReleases(a: PreRelease | null, b: PreRelease | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  const stage = STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage);
  if (stage !== 0) return stage;
  for (let index = 0; index < Math.max(a.numbers.length, b.numbers.length); index++) {
    const difference = (a.numbers[index] ?? -1) - (b.numbers[index] ?? -1);
    if (difference !== 0) return difference;
  }
  return 0;
}

const STAGES: readonly PreRelease["stage"][] = ["alpha", "beta", "rc"];

const stageOf = (text: string): PreRelease["stage"] => STAGES.find((stage) => stage === text) ?? "rc";

const sorted = (text: string): string => Array.from(text).sort().join("");

function howToWrite(text: string): string {
  if (text.trim() !== text) return "it has blanks around it";
  if (/^v?[0-9]+([,_-][0-9]+)+$/.test(text))
    return `its parts are joined by dots: ${text.replace(/[,_-]/g, ".")}`;
  if (/^v?[0-9]+$/.test(text)) return "it needs a minor, as in 1.34";
  if (/^v?[0-9.]+$/.test(text) && /(^|\.)v?0[0-9]/.test(text)) return "its numbers have no leading zeros";
  return "it is written as v1.34.4, 1.34.4 or 1.34";
}
