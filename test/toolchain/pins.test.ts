import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { entryName, modulesFolder } from "../../toolchain/cache.ts";
import { pins } from "../../toolchain/index.ts";
import { pinOf } from "../../toolchain/pins.ts";
import { atLeast, exactly, minors, parseVersion } from "../../toolchain/versions.ts";

const root = join(import.meta.dirname, "..", "..");
const file = (folder: string, name: string): string =>
  readFileSync(join(modulesFolder, folder, name), "utf8");

function lockedVersion(name: string): string | undefined {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as {
    packages: Record<string, { version?: string }>;
  };
  return lock.packages[`node_modules/${name}`]?.version;
}

describe.each(pins.map((pin) => [pin.id, pin] as const))("the pin of %s", (_, pin) => {
  test("is what its go.mod asks for, with a checksum in the go.sum that it names", () => {
    const required = file(pin.folder, "go.mod")
      .split("\n")
      .map((line) =>
        line
          .trim()
          .replace(/^require /, "")
          .replace(/ \/\/ indirect$/, ""),
      );
    expect(required).toContain(`${pin.module} ${pin.moduleVersion}`);
    expect(pin.checksums).toBe(`toolchain/modules/${pin.folder}/go.sum`);
    const sums = file(pin.folder, "go.sum").split("\n");
    expect(sums.filter((line) => line.startsWith(`${pin.module} ${pin.moduleVersion} h1:`))).toHaveLength(1);
  });

  test("accepts its own version", () => {
    const version = parseVersion(pin.version);
    expect(version && pin.fits.accepts(version)).toBe(true);
  });

  test("has a package that the go.mod keeps, or a main.go", () => {
    if (pin.packagePath === ".") expect(file(pin.folder, "main.go")).toContain("package main");
    else {
      const tools = file(pin.folder, "go.mod")
        .split(/[\n(]/)
        .map((line) => line.trim().replace(/^tool /, ""));
      expect(tools).toContain(pin.packagePath);
    }
  });
});

test("ids, variables and cache folders are each used once, and no module folder is without a pin", () => {
  for (const values of [pins.map((pin) => pin.id), pins.map((pin) => pin.variable), pins.map(entryName)]) {
    expect(new Set(values).size).toBe(pins.length);
  }
  expect(readdirSync(modulesFolder).sort()).toEqual([...new Set(pins.map((pin) => pin.folder))].sort());
});

test("nothing is replaced by a local folder, and Kubernetes' own modules are all of its version", () => {
  for (const folder of readdirSync(modulesFolder)) {
    const replaced = file(folder, "go.mod").match(/^\s*\S+.* => .*$/gm) ?? [];
    const minor = /^kubernetes-1\.(\d+)$/.exec(folder)?.[1];
    const patch = pins.find((pin) => pin.folder === folder)?.version.split(".")[2];
    for (const line of replaced)
      expect(line).toMatch(new RegExp(`=> k8s\\.io/\\S+ v0\\.${minor ?? ""}\\.${patch ?? ""}$`));
    if (minor === undefined) expect(replaced).toEqual([]);
    else expect(replaced.length).toBeGreaterThan(20);
  }
});

test("engine and Kubernetes provider are of the versions of their SDKs in the lockfile", () => {
  expect(pinOf("pulumi").version).toBe(lockedVersion("@pulumi/pulumi"));
  expect(pinOf("pulumi-resource-kubernetes").version).toBe(lockedVersion("@pulumi/kubernetes"));
});

test("an unknown id names the known ones", () => {
  expect(() => pinOf("kube-apiserver")).toThrow(
    /no tool is called "kube-apiserver"; known: .*kube-apiserver@1\.34/,
  );
});

describe("versions", () => {
  const part = fc.nat({ max: 2_000 });

  test("numbers survive, with any mark and vendor's suffix", () => {
    fc.assert(
      fc.property(
        part,
        part,
        part,
        fc.constantFrom("", "+k3s1", "-eks-113cf36"),
        (major, minor, patch, suffix) => {
          const version = parseVersion(`v${major}.${minor}.${patch}${suffix}`);
          expect(version).toEqual({
            major,
            minor,
            patch,
            suffix: suffix === "" ? undefined : suffix.slice(1),
          });
        },
      ),
    );
  });

  test("a minor's fit is numeric, not textual", () => {
    fc.assert(
      fc.property(part, part, part, (wanted, minor, patch) => {
        const version = { major: 1, minor, patch, suffix: undefined };
        expect(minors(1, wanted).accepts(version)).toBe(minor === wanted);
      }),
    );
  });

  test.each([
    [minors(1, 34), "v1.34.1-eks-113cf36", true],
    [minors(1, 34), "v1.34.0-rc.1", false],
    [minors(1, 34), "v1.3.4", false],
    [minors(1, 34, 35), "1.36.0", false],
    [atLeast("3.276.0"), "v3.276.0", true],
    [atLeast("3.276.0"), "v3.1000.0", true],
    [atLeast("3.276.0"), "v3.99.9", false],
    [atLeast("3.276.0"), "v4.0.0", false],
    [atLeast("3.276.0"), "v3.277.0-alpha.1", false],
    [exactly("4.25.0"), "4.25.1", false],
  ])("%j and %s: %s", (fit, text, expected) => {
    const version = parseVersion(text);
    expect(version && fit.accepts(version)).toBe(expected);
  });

  test.each(["", "1.34", "x1.2.3", "1.2.3.4", "1.2.x"])("%j is no version", (text) => {
    expect(parseVersion(text)).toBeUndefined();
  });
});
