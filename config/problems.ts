/** Turns what zod found into findings that carry config path, value, rule and repair, all at once. */
import { z } from "zod";
import type { Finding } from "../analysis/finding.ts";
import { nearest } from "../analysis/suggest.ts";
import type { RuleMeta } from "./scalars.ts";

/** Every problem of `input` under `schema`, or its parsed value. `root` is the path prefix in messages. */
export function parseStrict<T extends z.ZodType>(
  schema: T,
  input: unknown,
  root: string,
):
  | { readonly ok: true; readonly value: z.output<T> }
  | { readonly ok: false; readonly problems: readonly Finding[] } {
  const parsed = schema.safeParse(input, { reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, problems: parsed.error.issues.flatMap((issue) => toFindings(issue, schema, root)) };
}

function toFindings(issue: z.core.$ZodIssue, schema: z.ZodType, root: string): Finding[] {
  const path = issue.path.map((part) => (typeof part === "symbol" ? String(part) : part));
  const at = (more: readonly (string | number)[] = []): string => formatPath(root, [...path, ...more]);
  if (issue.code === "unrecognized_keys") {
    const known = keysOf(schemaAt(schema, path));
    return issue.keys.map((key) => unknownKey(at([key]), key, known));
  }
  const meta = ruleOf(schemaAt(schema, path)) ?? groupRule(schemaAt(schema, path), at());
  const problem = (code: string, message: string, rule: RuleMeta | undefined): Finding[] => [
    {
      code,
      severity: "refuse",
      subject: at(),
      message,
      rule: rule?.rule ?? issue.message,
      repair: rule?.repair ?? "correct the value",
    },
  ];
  if (issue.code === "custom") {
    // A rule between several settings: zod hands over all of them, and the path says which one is meant.
    const parts = issue.input as Readonly<Record<string, unknown>>;
    const value = path.length > 0 && isObject(parts) ? parts[String(path.at(-1))] : parts;
    const own: unknown = issue.params?.["repair"];
    const repair = typeof own === "string" ? own : (meta?.repair ?? "correct the value");
    return problem("CONFIG-VALUE", `${show(value)} does not fit`, { rule: issue.message, repair });
  }
  const value = issue.input;
  if (value === undefined) {
    // Documents of commands are written by the program: no config setting would mend them.
    const noSetting = root !== "" || keysOf(schemaAt(schema, path)).length > 0;
    return problem("CONFIG-MISSING", "is not given", {
      rule: meta?.rule ?? "is required",
      repair: noSetting
        ? (meta?.repair ?? "give it")
        : `pulumi config set --path '${at()}' …${meta === undefined ? "" : ` (${meta.repair})`}`,
    });
  }
  if (issue.code === "invalid_type") {
    return problem("CONFIG-VALUE", `${show(value)} ${wrongType(value, issue.expected)}`, meta);
  }
  const detail = meta === undefined ? ` (${issue.message})` : "";
  return problem("CONFIG-VALUE", `${show(value)} does not fit${detail}`, meta);
}

const TYPES: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  object: "a group of settings",
  record: "a group of settings",
  null: "null",
};

function wrongType(value: unknown, expected: string): string {
  const wanted = TYPES[expected] ?? expected;
  const actual = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
  return expected === "int" || value === null
    ? `is not ${wanted}`
    : `is ${TYPES[actual] ?? actual}, not ${wanted}`;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** For a group of settings that is missing or is none: which parts it needs. */
function groupRule(schema: z.ZodType | undefined, at: string): RuleMeta | undefined {
  const inner = schema === undefined ? undefined : unwrap(schema);
  if (!(inner instanceof z.ZodObject)) return undefined;
  const shape: Readonly<Record<string, z.ZodType>> = inner.shape;
  const parts = Object.entries(shape);
  const needed = parts.filter(([, part]) => !part.safeParse(undefined).success).map(([name]) => name);
  return {
    rule: `a group of settings${needed.length === 0 ? "" : ` that needs: ${needed.join(", ")}`}`,
    repair: `set its parts: pulumi config set --path '${at}.${needed[0] ?? parts[0]?.[0] ?? "NAME"}' …`,
  };
}

/** An unknown key, with the nearest known one. */
export function unknownKey(subject: string, key: string, known: readonly string[]): Finding {
  const suggestion = nearest(key, known);
  return {
    code: "CONFIG-UNKNOWN-KEY",
    severity: "refuse",
    subject,
    message: `there is no setting of the name ${show(key)}`,
    rule: `known here: ${known.join(", ")}`,
    repair: suggestion === null ? "remove it" : `did you mean '${suggestion}'? Otherwise remove it`,
  };
}

function formatPath(root: string, path: readonly (string | number)[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === "number" ? `${text}[${part}]` : text === "" ? part : `${text}.${part}`),
    root,
  );
}

/** At most 120 characters of a value, for a message. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) return "nothing";
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

/** The schema found by walking `path` from `schema`, through optional, default and array wrappers. */
function schemaAt(schema: z.ZodType, path: readonly (string | number)[]): z.ZodType | undefined {
  let at: z.ZodType | undefined = schema;
  for (const part of path) {
    const inner: z.ZodType | undefined = at === undefined ? undefined : unwrap(at);
    if (inner instanceof z.ZodObject) at = (inner.shape as Record<string, z.ZodType>)[String(part)];
    else if (inner instanceof z.ZodArray) at = inner.element as z.ZodType;
    else if (inner instanceof z.ZodRecord) at = inner.valueType as z.ZodType;
    else return undefined;
  }
  return at;
}

function unwrap(schema: z.ZodType): z.ZodType {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable
  ) {
    return unwrap(schema.unwrap() as z.ZodType);
  }
  return schema;
}

function keysOf(schema: z.ZodType | undefined): readonly string[] {
  const inner = schema === undefined ? undefined : unwrap(schema);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

function ruleOf(schema: z.ZodType | undefined): RuleMeta | undefined {
  let at = schema;
  while (at !== undefined) {
    const meta = at.meta() as Partial<RuleMeta> | undefined;
    if (meta?.rule !== undefined && meta.repair !== undefined)
      return { rule: meta.rule, repair: meta.repair };
    const inner = unwrap(at);
    if (inner === at) return undefined;
    at = inner;
  }
  return undefined;
}
