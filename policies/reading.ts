/**
 * Safe reads of a resource's properties. A value that is not known at preview throws when it is touched, and a policy that
 * lets this out is turned into an advisory whole, mandatory or not: so every read is caught where it is made.
 */
import type { ResourceView } from "./view.ts";

export type Reading =
  | { readonly state: "known"; readonly value: unknown }
  | { readonly state: "absent" }
  | { readonly state: "unknown"; readonly property: string };

/** Reads a property, copied to plain data. One unknown part makes the whole unknown, and is named. */
export function read(one: ResourceView, ...path: readonly string[]): Reading {
  let value: unknown = one.props;
  const seen: string[] = [];
  try {
    for (const part of path) {
      if (!isRecord(value)) return { state: "absent" };
      seen.push(part);
      value = value[part];
    }
  } catch {
    return { state: "unknown", property: seen.join(".") };
  }
  if (value === undefined || value === null) return { state: "absent" };
  try {
    return { state: "known", value: copy(value, [...path]) };
  } catch (error) {
    if (error instanceof UnknownPart) return { state: "unknown", property: error.property };
    throw error;
  }
}

/** Text, or null where there is none (other types count as none). */
export function readText(
  one: ResourceView,
  ...path: readonly string[]
): Reading & { readonly text: string | null } {
  const reading = read(one, ...path);
  return {
    ...reading,
    text: reading.state === "known" && typeof reading.value === "string" ? reading.value : null,
  };
}

/** Names of the properties below a path. They are known even where their values are not. */
export function keysOf(one: ResourceView, ...path: readonly string[]): readonly string[] {
  let value: unknown = one.props;
  try {
    for (const part of path) {
      if (!isRecord(value)) return [];
      value = value[part];
    }
  } catch {
    return [];
  }
  return isRecord(value) ? Object.keys(value) : [];
}

class UnknownPart extends Error {
  readonly property: string;
  constructor(property: string) {
    super(`${property} is not known`);
    this.property = property;
  }
}

function copy(value: unknown, path: readonly string[]): unknown {
  // By index: an array's iterator would touch what is not known.
  if (Array.isArray(value))
    return Array.from({ length: value.length }, (_, index) => part(value, index, path));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.keys(value).map((key) => [key, part(value, key, path)]));
}

function part(of: object, key: string | number, path: readonly string[]): unknown {
  const here = [...path, String(key)];
  let value: unknown;
  try {
    value = (of as Record<string | number, unknown>)[key];
  } catch {
    throw new UnknownPart(here.join("."));
  }
  return copy(value, here);
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
