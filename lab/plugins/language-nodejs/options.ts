/** The `runtime.options` of Pulumi.yaml and PulumiPolicy.yaml, as the official host reads them. */
export interface RuntimeOptions {
  /** Whether programs run through ts-node; the official default is true. */
  readonly typescript: boolean;
  readonly tsconfig: string | undefined;
  readonly nodeargs: readonly string[];
  readonly packagemanager: string;
  readonly production: boolean;
}

/** @throws one message naming the option with a wrong type */
export function parseOptions(raw: Readonly<Record<string, unknown>>): RuntimeOptions {
  const nodeargs = optional(raw, "nodeargs", "string");
  const packagemanager = optional(raw, "packagemanager", "string") ?? "auto";
  if (!["auto", "npm", "yarn", "pnpm", "bun"].includes(packagemanager)) {
    throw new Error(
      `packagemanager option must be one of auto, npm, yarn, pnpm or bun, got "${packagemanager}"`,
    );
  }
  return {
    typescript: optional(raw, "typescript", "boolean") ?? true,
    tsconfig: optional(raw, "tsconfig", "string"),
    nodeargs: nodeargs === undefined ? [] : splitWords(nodeargs),
    packagemanager,
    production: optional(raw, "production", "boolean") ?? false,
  };
}

interface Kinds {
  string: string;
  boolean: boolean;
}

function optional<K extends keyof Kinds>(
  raw: Readonly<Record<string, unknown>>,
  name: string,
  kind: K,
): Kinds[K] | undefined {
  const value = raw[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== kind) throw new Error(`${name} option must be a ${kind}`);
  return value as Kinds[K];
}

/**
 * Splits a command line into words by the shell's rules for quotes and backslashes; nothing is expanded.
 * @throws on a quote that is never closed
 */
export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let quote = "";
  for (let i = 0; i < line.length; i++) {
    const c = line.charAt(i);
    if (c === "\\" && quote !== "'" && i + 1 < line.length) {
      word = (word ?? "") + line.charAt(++i);
    } else if (quote !== "") {
      if (c === quote) quote = "";
      else word = (word ?? "") + c;
    } else if (c === '"' || c === "'") {
      quote = c;
      word ??= "";
    } else if (/\s/.test(c)) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + c;
    }
  }
  if (quote !== "") throw new Error(`nodeargs option has an unclosed ${quote}: ${line}`);
  if (word !== undefined) words.push(word);
  return words;
}
