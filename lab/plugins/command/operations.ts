/** What a Command does on create, update and delete, and what preview knows about it; no gRPC in here. */
import { randomBytes } from "node:crypto";
import { runCommand } from "./run-command.ts";
import type { Outputs, RunContext } from "./run-command.ts";
import { containsUnknown, deepEqual, reveal, unknownString, withoutNulls } from "./values.ts";
import type { Properties } from "./values.ts";

/** The id of a new Command: its name and 8 hexadecimal digits, as the official provider makes it. */
export function newId(urn: string): string {
  const name = urn.slice(urn.lastIndexOf("::") + 2);
  return name + randomBytes(4).toString("hex");
}

/** The outputs in a Command's state. Marks of secrecy are the engine's to put back (additionalSecretOutputs). */
export function outputsOf(state: Properties): Outputs {
  const text = (value: unknown): string => (typeof value === "string" ? value : "");
  return {
    stdout: text(reveal(state["stdout"])),
    stderr: text(reveal(state["stderr"])),
    ...(state["assets"] !== undefined && { assets: reveal(state["assets"]) }),
    ...(state["archive"] !== undefined && { archive: reveal(state["archive"]) }),
  };
}

const none: Outputs = { stdout: "", stderr: "" };

export async function create(inputs: Properties, preview: boolean, context: RunContext): Promise<Properties> {
  const given = withoutNulls(inputs);
  if (preview) return { ...given, stdout: unknownString, stderr: unknownString };
  const command = reveal(given["create"]);
  return {
    ...given,
    ...(typeof command === "string" ? await runCommand(command, given, none, context) : none),
  };
}

/** Runs `update`, or `create` where there is no `update`. At preview the outputs are unknown if any input changed. */
export async function update(
  state: Properties,
  inputs: Properties,
  preview: boolean,
  context: RunContext,
): Promise<Properties> {
  const given = withoutNulls(inputs);
  const previous = outputsOf(state);
  if (preview) {
    const changed = Object.entries(given).some(
      ([name, value]) => containsUnknown(value) || (name in state && !deepEqual(value, state[name])),
    );
    const removed = Object.keys(state).some((name) => !(name in given) && !(name in previous));
    if (!changed && !removed) return { ...given, ...previous };
    const unknown = Object.fromEntries(Object.keys(previous).map((name) => [name, unknownString]));
    return { ...given, ...unknown };
  }
  const command = reveal(given["update"] ?? given["create"]);
  const outputs =
    typeof command === "string" ? await runCommand(command, given, previous, context) : previous;
  return { ...given, ...outputs };
}

export async function remove(state: Properties, context: RunContext): Promise<void> {
  const command = reveal(state["delete"]);
  if (typeof command === "string") await runCommand(command, state, outputsOf(state), context);
}

/** The function `command:local:run`: runs at preview, too, as the official one does. */
export async function run(args: Properties, context: RunContext): Promise<Properties> {
  const given = withoutNulls(args);
  const outputs = await runCommand(String(reveal(given["command"])), given, none, context);
  return { ...given, ...outputs };
}
