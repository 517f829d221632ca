/** Files that a command left behind, chosen by the globs of `assetPaths` and `archivePaths`. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { assetSignature, signatureKey } from "./values.ts";

/**
 * A glob with `/` as separator (github.com/gobwas/glob): `*` and `?` stop at it, `**` does not; `[abc]`, `[!abc]`,
 * `{one,two}` and a backslash that takes the next character as it is.
 * @throws on an unclosed bracket or brace
 */
export function globToRegExp(glob: string): RegExp {
  let out = "";
  let depth = 0;
  for (let i = 0; i < glob.length; i++) {
    const c = glob.charAt(i);
    if (c === "*") {
      const double = glob.charAt(i + 1) === "*";
      if (double) i++;
      out += double ? ".*" : "[^/]*";
    } else if (c === "?") out += "[^/]";
    else if (c === "\\") out += escape(glob.charAt(++i));
    else if (c === "[") {
      const end = glob.indexOf("]", i + 1);
      if (end < 0) throw new Error(`glob "${glob}" has an unclosed [`);
      const set = glob.slice(i + 1, end);
      const negated = set.startsWith("!");
      out += `[${negated ? "^" : ""}${(negated ? set.slice(1) : set).replace(/[\\\]^]/g, "\\$&")}]`;
      i = end;
    } else if (c === "{") {
      depth++;
      out += "(?:";
    } else if (c === "}" && depth > 0) {
      depth--;
      out += ")";
    } else if (c === "," && depth > 0) out += "|";
    else out += escape(c);
  }
  if (depth > 0) throw new Error(`glob "${glob}" has an unclosed {`);
  return new RegExp(`^${out}$`, "su");
}

function escape(c: string): string {
  return c.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}

/**
 * The matching files below `dir` as file assets, by path relative to it. Rules count in their order; one that starts
 * with `!` takes out again.
 */
export function assetsIn(dir: string, globs: readonly string[]): Record<string, Record<string, string>> {
  const rules = globs.map((glob) => ({
    exclude: glob.startsWith("!"),
    pattern: globToRegExp(glob.startsWith("!") ? glob.slice(1) : glob),
  }));
  const assets: Record<string, Record<string, string>> = {};
  for (const path of filesIn(dir, "")) {
    let chosen = false;
    for (const rule of rules) if (rule.pattern.test(path)) chosen = !rule.exclude;
    if (chosen) assets[path] = fileAsset(join(dir, path));
  }
  return assets;
}

function* filesIn(dir: string, below: string): Generator<string> {
  const entries = readdirSync(join(dir, below), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(dir, path);
    else if (entry.isFile()) yield path;
  }
}

function fileAsset(path: string): Record<string, string> {
  return {
    [signatureKey]: assetSignature,
    path,
    hash: createHash("sha256").update(readFileSync(path)).digest("hex"),
  };
}
