import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { assetsIn, globToRegExp } from "../../lab/plugins/command/globs.ts";
import { temporaryFolder } from "./support.ts";

test.each([
  ["*.txt", "a.txt", true],
  ["*.txt", "sub/a.txt", false],
  ["**", "sub/deep/a", true],
  ["src/**.js", "src/deep/a.js", true],
  ["?.js", "ab.js", false],
  ["[ab].js", "a.js", true],
  ["[!ab].js", "a.js", false],
  ["{one,two}/x", "two/x", true],
  ["a\\*b", "a*b", true],
  ["a\\*b", "axb", false],
  ["a.b", "axb", false],
])("%s against %s", (glob, path, expected) => {
  expect(globToRegExp(glob).test(path)).toBe(expected);
});

test("a path matches itself when every special character is escaped", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1 }), (path) => {
      const glob = path.replace(/[*?[\]{},\\!]/gu, "\\$&");
      expect(globToRegExp(glob).test(path)).toBe(true);
    }),
  );
});

test("an unclosed bracket or brace is refused with the glob", () => {
  expect(() => globToRegExp("[ab")).toThrow('glob "[ab" has an unclosed [');
  expect(() => globToRegExp("{ab")).toThrow('glob "{ab" has an unclosed {');
});

test("the documented example: rules in order, excludes after includes", () => {
  const dir = temporaryFolder();
  for (const file of ["assets/logos/logo.svg", "src/index.js", "src/secret.js"]) {
    mkdirSync(join(dir, file, ".."), { recursive: true });
    writeFileSync(join(dir, file), file);
  }
  const assets = assetsIn(dir, ["assets/**", "src/**.js", "!**secret.*"]);
  expect(Object.keys(assets)).toEqual(["assets/logos/logo.svg", "src/index.js"]);
  expect(assets["src/index.js"]?.["path"]).toBe(join(dir, "src/index.js"));
  expect(assets["src/index.js"]?.["hash"]).toMatch(/^[0-9a-f]{64}$/);
});
