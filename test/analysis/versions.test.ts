import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Version,
  VersionError,
  atLeast,
  compareVersions,
  formatMinor,
  formatVersion,
  isPreRelease,
  meantVersion,
  minorOf,
  parseMinorField,
  parseVersion,
  readVersion,
  versionFromConfig,
} from "../../analysis/versions.ts";

describe("reading a version", () => {
  test.each<[string, number, number, number | null, string | null, string]>([
    ["v1.34.4", 1, 34, 4, null, ""],
    ["1.34", 1, 34, null, null, ""],
    ["1.21+", 1, 21, null, null, ""],
    ["v1.19.13-eks-8df270", 1, 19, 13, null, "-eks-8df270"],
    ["v1.29.4+k3s1", 1, 29, 4, null, "+k3s1"],
    ["v1.26.6+rke2r1", 1, 26, 6, null, "+rke2r1"],
    ["v1.29.1-gke.1589018", 1, 29, 1, null, "-gke.1589018"],
    ["v1.31.0-dirty", 1, 31, 0, null, "-dirty"],
    ["v1.30.0-alpha.2", 1, 30, 0, "alpha", ""],
    ["v1.30.0-beta.0", 1, 30, 0, "beta", ""],
    ["v1.29.4-rc1+k3s1", 1, 29, 4, "rc", "+k3s1"],
    ["v1.21.0-rc.0+6143dea", 1, 21, 0, "rc", "+6143dea"],
    ["v1.31.0-alpha.1.123+0123abc-dirty", 1, 31, 0, "alpha", "+0123abc-dirty"],
  ])("VER-04 %s", (text, major, minor, patch, stage, vendor) => {
    const version = parseVersion(text);
    expect(version).toMatchObject({ major, minor, patch, vendor, text });
    expect(version.preRelease?.stage ?? null).toBe(stage);
  });

  test.each([
    ["", "written as"],
    ["1", "needs a minor"],
    ["v1", "needs a minor"],
    ["1.30.l", "written as"],
    ["1,30,1", "joined by dots: 1.30.1"],
    ["1.030.1", "leading zeros"],
    [" 1.30.1", "blanks"],
    ["v1.34.4\n", "blanks"],
    ["v.1.30.1", "written as"],
    ["V1.30.1", "written as"],
    ["1.30-rc.1", "patch number"],
    ["1.30+.1", "patch number"],
    ["1.30.1.2", "written as"],
    ["1.30.1-", "letters"],
    ["1.30.1-eks_ä", "letters"],
    ["1.30.99999999999999999999", "written as"],
    ["latest", "written as"],
    ["-1.30.1", "written as"],
  ])("refuses %j and says why", (text, why) => {
    const read = readVersion(text);
    expect(read.ok).toBe(false);
    expect(() => parseVersion(text)).toThrow(VersionError);
    expect(() => parseVersion(text)).toThrow(why);
  });

  test.each([
    ["21+", 21],
    ["34", 34],
    ["0", 0],
  ])("VER-04 minor field %s is %i", (text, minor) => {
    expect(parseMinorField(text)).toBe(minor);
  });

  test.each(["", "+", "21++", "x", "1.21"])("refuses the minor field %j", (text) => {
    expect(() => parseMinorField(text)).toThrow(VersionError);
  });
});

describe("comparing versions", () => {
  test.each<[string, string, boolean]>([
    ["v1.29.4-eks-036c24b", "1.29.0", true],
    ["v1.29.0-eks-036c24b", "1.29.0", true],
    ["v1.29.4+k3s1", "1.29.4", true],
    ["v1.26.6+rke2r1", "1.26.6", true],
    ["v1.29.1-gke.1589018", "1.29.1", true],
    ["v1.30.0-rc.1", "1.30.0", false],
    ["v1.30.0-alpha.2", "1.30.0", false],
    ["v1.21.0-rc.0+6143dea", "1.21.0", false],
    ["v1.30.0-rc.1", "1.30", false],
    ["v1.30.0-rc1+rke2r1", "1.30.0", false],
    ["v1.10.0", "1.9.6", true],
    ["v1.9.6", "1.10.0", false],
    ["v1.30.0", "1.30.0-rc.1", true],
    ["v1.30.0-rc.10", "1.30.0-rc.9", true],
    ["v1.30.0-beta.0", "1.30.0-alpha.3", true],
    ["v2.0.0", "1.99.0", true],
    ["1.21+", "1.21.0", true],
  ])("VER-04 %s at least %s: %s", (version, wanted, expected) => {
    expect(atLeast(version, wanted)).toBe(expected);
  });

  test.each([
    ["v1.30.0-rc.1", true],
    ["v1.29.4-rc1+k3s1", true],
    ["v1.29.4+k3s1-rc1", true],
    ["v1.29.4+k3s1", false],
    ["v1.29.4-eks-rcbeta1", false],
    ["v1.34.4", false],
  ])("%s is a pre-release: %s", (text, expected) => {
    expect(isPreRelease(text)).toBe(expected);
  });
});

const vendor = fc.constantFrom("", "-eks-036c24b", "+k3s1", "+rke2r1", "-gke.1589018", "+6143dea");
const arbitraryVersion = fc
  .record({
    major: fc.integer({ min: 0, max: 3 }),
    minor: fc.nat(120),
    patch: fc.nat(40),
    pre: fc.constantFrom("", "-alpha.0", "-alpha.2.17", "-beta.1", "-rc.0", "-rc.10"),
    vendor,
  })
  .map(({ major, minor, patch, pre, vendor: mark }) => `v${major}.${minor}.${patch}${pre}${mark}`);

describe("properties", () => {
  test("a version reads back as it was written", () => {
    fc.assert(
      fc.property(arbitraryVersion, (text) => {
        expect(formatVersion(parseVersion(text))).toBe(text);
      }),
    );
  });

  test("the order is total: antisymmetric, transitive, and equal only for the same release", () => {
    fc.assert(
      fc.property(arbitraryVersion, arbitraryVersion, arbitraryVersion, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(-Math.sign(compareVersions(b, a)) + 0);
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0) {
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0);
        }
        const bare = (text: string): Omit<Version, "vendor" | "text"> => {
          const { major, minor, patch, preRelease } = parseVersion(text);
          return { major, minor, patch, preRelease };
        };
        expect(compareVersions(a, b) === 0).toBe(JSON.stringify(bare(a)) === JSON.stringify(bare(b)));
      }),
    );
  });

  test("a vendor's mark never changes the order", () => {
    fc.assert(
      fc.property(fc.nat(60), fc.nat(30), vendor, vendor, (minor, patch, one, other) => {
        expect(compareVersions(`v1.${minor}.${patch}${one}`, `v1.${minor}.${patch}${other}`)).toBe(0);
      }),
    );
  });

  test("no text makes the reader throw anything but a VersionError", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.stringMatching(/^v?1\.[0-9.+-]{0,6}(rc|eks|k3s)?[0-9.+-]{0,4}$/)),
        (text) => {
          const read = readVersion(text);
          if (read.ok) expect(formatMinor(minorOf(read.version))).toBe(formatMinor(minorOf(text)));
          else expect(read.error).toBeInstanceOf(VersionError);
        },
      ),
    );
  });
});

describe("versions in config", () => {
  test.each<[unknown, string, string]>([
    [1.3, '"1.30"', "1.3 is a number"],
    [1.34, '"1.34"', "1.34 is a number"],
    [2, '"2"', "2 is a number"],
  ])("TAL-04 the number %s is refused: write the version in quotes", (value, example, message) => {
    const read = versionFromConfig(value, { current: "v1.29.5" });
    expect(read).toMatchObject({ ok: false });
    if (read.ok) return;
    expect(read.message).toContain(message);
    expect(read.repair).toContain("write the version in quotes");
    expect(read.repair).toContain(example);
  });

  test.each([
    ["1.3.1", "1.29.5", "1.30.1"],
    ["1.3", "1.29.5", "1.30"],
    ["1.3.7", "1.30.5", "1.30.7"],
    ["1.3.1", "1.30.5", "1.31.1"],
    ["1.2.4", "v1.19.13-eks-8df270", "1.20.4"],
    ["1.13.1", "1.30.5", "1.31.1"],
    ["1.300.1", "1.29.5", "1.30.1"],
  ])("TAL-04 target %s at %s: did you mean %s?", (target, current, meant) => {
    expect(meantVersion(parseVersion(target), parseVersion(current))).toBe(meant);
    const read = versionFromConfig(target, { current });
    expect(read.ok ? "" : read.repair).toBe(`did you mean ${meant}?`);
  });

  test.each([
    ["1.30.1", "1.29.5"],
    ["1.29.9", "1.29.5"],
    ["1.31.0", "1.29.5"],
    ["1.15.0", "1.13.5"],
    ["1.10.0", "1.9.6"],
    ["1.28.0", "1.29.5"],
    ["1.25.0", "1.29.5"],
  ])("target %s at %s looks deliberate", (target, current) => {
    expect(meantVersion(parseVersion(target), parseVersion(current))).toBeNull();
  });

  test.each<[unknown, string]>([
    [null, "null"],
    [undefined, "undefined"],
    [["1.30"], "a list"],
    [{}, "object"],
    ["", "is not a Kubernetes version"],
    ["newest", "is not a Kubernetes version"],
  ])("%j is refused", (value, message) => {
    const read = versionFromConfig(value);
    expect(read.ok ? "" : read.message).toContain(message);
  });

  test("a release line is refused only where a patch is needed", () => {
    expect(versionFromConfig("1.30", { needsPatch: true })).toMatchObject({ ok: false });
    expect(versionFromConfig("1.30")).toMatchObject({ ok: true });
    expect(versionFromConfig("v1.30.4+k3s1", { needsPatch: true })).toMatchObject({ ok: true });
  });
});
