import { z } from "zod";
import type { Problem } from "./errors.ts";

type Issue = z.core.$ZodIssue;

/** Turns zod's issues into problems a reader can act on: the path as written, the value seen, the rule, the repair. */
export function problemsOf(error: z.ZodError, input: unknown, schema: z.ZodType): Problem[] {
  return error.issues.flatMap((issue) => problemsOfIssue(issue, [], input, schema));
}

function problemsOfIssue(
  issue: Issue,
  base: readonly PropertyKey[],
  input: unknown,
  schema: z.ZodType,
): Problem[] {
  const path = [...base, ...issue.path];
  const value = valueAt(input, path);
  switch (issue.code) {
    case "unrecognized_keys":
      return issue.keys.map((key) => unknownKey(path, key, schema, input));
    case "invalid_union": {
      const branch = closestBranch(issue.errors, value);
      if (branch) return branch.flatMap((inner) => problemsOfIssue(inner, path, input, schema));
      return [
        problem(path, value, "a list of nodes, or a set: {count, prefix, zones, …}", "write one of the two"),
      ];
    }
    case "invalid_value":
      return [invalidValue(path, value, issue.values)];
    case "invalid_type":
      return [problem(path, value, `must be ${article(issue.expected)}`, typeRepair(issue.expected, value))];
    case "invalid_key":
      return [problem(path, value, issue.issues[0]?.message ?? issue.message, "rename the key")];
    default:
      return [
        problem(path, value, issue.message, "write a value that keeps to the rule, or leave the key out"),
      ];
  }
}

/** Of a union's branches the one the value was meant for: a list for the list, a mapping for the mapping. */
function closestBranch(
  branches: readonly (readonly Issue[])[],
  value: unknown,
): readonly Issue[] | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  return branches.find(
    (branch) => !branch.some((issue) => issue.code === "invalid_type" && issue.path.length === 0),
  );
}

function unknownKey(path: readonly PropertyKey[], key: string, schema: z.ZodType, input: unknown): Problem {
  const known = keysAt(schema, path);
  const near = nearest(key, known);
  return problem(
    [...path, key],
    valueAt(input, [...path, key]),
    `no such key; known are ${known.join(", ")}`,
    near === undefined ? "remove it" : `did you mean ${near}?`,
  );
}

function invalidValue(path: readonly PropertyKey[], value: unknown, values: readonly unknown[]): Problem {
  const allowed = values.map((each) => JSON.stringify(each)).join(" or ");
  if (typeof value === "number") {
    return problem(path, value, `must be ${allowed}`, `quote it: YAML reads 1.30 as the number 1.3`);
  }
  const near = nearest(String(value), values.map(String));
  return problem(
    path,
    value,
    `must be ${allowed}`,
    near === undefined ? "write one of these" : `did you mean "${near}"?`,
  );
}

function typeRepair(expected: string, value: unknown): string {
  if (expected === "string" && (typeof value === "number" || typeof value === "boolean")) {
    return `put it in quotes: "${value}"`;
  }
  if (value === undefined) return "write it";
  return `write ${article(expected)}`;
}

function article(type: string): string {
  const names: Record<string, string> = {
    array: "a list",
    record: "a mapping",
    object: "a mapping",
    int: "a whole number",
  };
  return names[type] ?? (/^[aeiou]/u.test(type) ? `an ${type}` : `a ${type}`);
}

function problem(path: readonly PropertyKey[], value: unknown, rule: string, repair: string): Problem {
  return {
    path: formatPath(path),
    value: value === undefined ? "(missing)" : JSON.stringify(value),
    rule,
    repair,
  };
}

function formatPath(path: readonly PropertyKey[]): string {
  const text = path
    .map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`))
    .join("")
    .replace(/^\./u, "");
  return text === "" ? "(top level)" : text;
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let at = input;
  for (const part of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<PropertyKey, unknown>)[part];
  }
  return at;
}

/** The keys that the schema knows at a path; of a union, those of every branch that has any there. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const bare = unwrap(schema);
  if (bare instanceof z.ZodUnion) {
    const keys = bare.options.flatMap((option) => (isSchema(option) ? keysAt(option, path) : []));
    return [...new Set(keys)];
  }
  const [head, ...rest] = path;
  if (bare instanceof z.ZodObject) {
    if (head === undefined) return Object.keys(bare.shape);
    const inner: unknown = bare.shape[String(head)];
    return isSchema(inner) ? keysAt(inner, rest) : [];
  }
  if (bare instanceof z.ZodArray && typeof head === "number" && isSchema(bare.element))
    return keysAt(bare.element, rest);
  return [];
}

function isSchema(value: unknown): value is z.ZodType {
  return value instanceof z.ZodType;
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) {
    const inner: unknown = schema.unwrap();
    return isSchema(inner) ? unwrap(inner) : schema;
  }
  return schema;
}

/** The known word nearest to what was written, if it is near enough to be a slip of the hand. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const limit = Math.max(2, Math.floor(word.length / 3));
  let best: { word: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance <= limit && (best === undefined || distance < best.distance))
      best = { word: candidate, distance };
  }
  return best?.word;
}

/** Levenshtein distance. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
