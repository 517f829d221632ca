/**
 * What changed between the inputs of the last run and those of this one.
 *
 * Follows the official provider (pulumi-go-provider, infer/resource.go): old and new *inputs* are compared, and only
 * the property `triggers` as a whole asks for a replacement. A change *inside* `triggers` is reported as an update of
 * for example `triggers[0]`; it becomes a replacement by the option `replaceOnChanges: ["triggers[*]"]` that the SDK
 * sets on every Command.
 */
import { deepEqual, isObject, isSecret, isSigned } from "./values.ts";
import type { Properties } from "./values.ts";

export type ChangeKind = "add" | "addReplace" | "delete" | "deleteReplace" | "update" | "updateReplace";

/** From the path of each changed property to what happened to it. */
export type Changes = ReadonlyMap<string, ChangeKind>;

export function diff(oldInputs: Properties, newInputs: Properties): Changes {
  const changes = new Map<string, ChangeKind>();
  compareObjects("", withoutInternals(oldInputs), withoutInternals(newInputs), changes);
  for (const [path, kind] of changes) {
    if (path === "triggers" && (kind === "add" || kind === "delete" || kind === "update")) {
      changes.set(path, `${kind}Replace`);
    }
  }
  return changes;
}

/** The engine's own inputs are no inputs of the command. */
function withoutInternals(inputs: Properties): Properties {
  return Object.fromEntries(Object.entries(inputs).filter(([k]) => k !== "version" && !k.startsWith("__")));
}

function compareObjects(
  prefix: string,
  a: Properties,
  b: Properties,
  changes: Map<string, ChangeKind>,
): void {
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    compare(join(prefix, key), a[key], b[key], changes);
  }
}

function compare(path: string, a: unknown, b: unknown, changes: Map<string, ChangeKind>): void {
  const before = a ?? undefined;
  const after = b ?? undefined;
  if (before === undefined || after === undefined) {
    if (before !== after) changes.set(path, before === undefined ? "add" : "delete");
  } else if (Array.isArray(before) && Array.isArray(after)) {
    for (let i = 0; i < Math.max(before.length, after.length); i++) {
      const was: unknown = before[i];
      const is: unknown = after[i];
      compare(`${path}[${i}]`, was, is, changes);
    }
  } else if (isPlain(before) && isPlain(after)) {
    compareObjects(path, before, after, changes);
  } else if (!deepEqual(before, after)) {
    changes.set(path, "update");
  }
}

function isPlain(value: unknown): value is Properties {
  return isObject(value) && !isSecret(value) && !isSigned(value);
}

/** A property path in the engine's notation: names that are not identifiers are quoted. */
function join(prefix: string, key: string): string {
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${prefix}[${JSON.stringify(key)}]`;
  return prefix === "" ? key : `${prefix}.${key}`;
}

/** The top-level property of a path. */
export function headOf(path: string): string {
  const quoted = /^\["((?:[^"\\]|\\.)*)"\]/.exec(path);
  if (quoted?.[1] !== undefined) return JSON.parse(`"${quoted[1]}"`) as string;
  return /^[^.[]+/.exec(path)?.[0] ?? path;
}
