/** Which inputs a Command and the `run` function take, and what is wrong with the ones given. */
import { isObject, isSecret, isUnknown } from "./values.ts";
import type { Properties } from "./values.ts";

export interface Failure {
  readonly property: string;
  readonly reason: string;
}

type Kind = "string" | "boolean" | "strings" | "stringMap" | "anyList";

const base: Readonly<Record<string, Kind>> = {
  stdin: "string",
  // Any string passes, as with the official provider; one that it does not know logs nothing.
  logging: "string",
  interpreter: "strings",
  dir: "string",
  environment: "stringMap",
  assetPaths: "strings",
  archivePaths: "strings",
  addPreviousOutputInEnv: "boolean",
};

export interface InputSpec {
  readonly type: string;
  readonly fields: Readonly<Record<string, Kind>>;
  readonly required: readonly string[];
}

export const commandInputs: InputSpec = {
  type: "local.CommandInputs",
  fields: { ...base, triggers: "anyList", create: "string", update: "string", delete: "string" },
  required: [],
};

export const runInputs: InputSpec = {
  type: "local.RunInputs",
  fields: { ...base, command: "string" },
  required: ["command"],
};

/** Engine-made inputs (`__defaults` and the like) are no field and no failure. */
function isInternal(name: string): boolean {
  return name.startsWith("__");
}

/** Every failure at once, each with the path of its property. */
export function check(inputs: Properties, spec: InputSpec): Failure[] {
  const failures: Failure[] = [];
  for (const name of spec.required) {
    if (inputs[name] === undefined) {
      failures.push({ property: name, reason: `Missing required field '${name}' on '${spec.type}'` });
    }
  }
  for (const [name, value] of Object.entries(inputs)) {
    if (isInternal(name)) continue;
    const kind = spec.fields[name];
    if (kind === undefined) {
      failures.push({ property: name, reason: `Unrecognized field '${name}' on '${spec.type}'` });
    } else {
      checkKind(name, value, kind, spec, failures);
    }
  }
  return failures;
}

function checkKind(path: string, given: unknown, kind: Kind, spec: InputSpec, failures: Failure[]): void {
  const value = isSecret(given) ? given.value : given;
  if (isSecret(value)) {
    checkKind(path, value, kind, spec, failures);
    return;
  }
  if (isUnknown(value)) return;
  const wrong = (expected: string): void => {
    failures.push({
      property: path,
      reason: `Field '${path}' on '${spec.type}' must be a '${expected}'; got '${typeName(value)}' instead`,
    });
  };
  switch (kind) {
    case "string":
      if (typeof value !== "string") wrong("string");
      return;
    case "boolean":
      if (typeof value !== "boolean") wrong("bool");
      return;
    case "anyList":
      if (!Array.isArray(value)) wrong("[]interface {}");
      return;
    case "strings":
      if (!Array.isArray(value)) wrong("[]string");
      else
        for (const [i, item] of value.entries()) checkKind(`${path}[${i}]`, item, "string", spec, failures);
      return;
    case "stringMap":
      if (!isObject(value)) wrong("map[string]string");
      else
        for (const [k, item] of Object.entries(value))
          checkKind(`${path}[${k}]`, item, "string", spec, failures);
  }
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (isObject(value)) return "map[string]interface {}";
  if (typeof value === "number") return "float64";
  return typeof value === "boolean" ? "bool" : value === null ? "null" : typeof value;
}
