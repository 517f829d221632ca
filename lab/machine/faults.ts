import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { codeOf, LabError, messageOf } from "../cluster/errors.ts";
import { readIfThere } from "../cluster/files.ts";
import type { Layout } from "../cluster/layout.ts";
import { problemsOf } from "../cluster/problems.ts";

const FaultSchema = z.strictObject({
  /** The machine's name, or `*` for any. */
  node: z.string().min(1),
  /** A regular expression (ECMAScript), searched in the command as it is run: `systemctl restart kubelet`. */
  command: z.string().refine(isPattern, "must be a regular expression"),
  /**
   * - `fail`: nothing is done; `message` on stderr, exit code `exitCode`.
   * - `hang`: nothing is done, and the command does not come back.
   * - `kill-after`: everything is done, then the connection is lost (the process dies by SIGKILL).
   * - `kubelet-down`: for a command that starts the kubelet: it says it went well, but the kubelet does not come
   *   back, and the Node falls silent.
   */
  action: z.enum(["fail", "hang", "kill-after", "kubelet-down"]),
  message: z.string().default("fault injected by the lab"),
  exitCode: z.int().min(1).max(255).default(1),
  /** How often it strikes; without it, always. */
  times: z.int().min(1).optional(),
});
const FaultsSchema = z.array(FaultSchema);

/** What goes wrong on purpose: `faults.json` in the lab's folder is a list of these. */
export type Fault = z.output<typeof FaultSchema>;
export type FaultInput = z.input<typeof FaultSchema>;

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

async function readFaults(layout: Layout): Promise<Fault[]> {
  const text = await readIfThere(layout.faults);
  if (text === undefined) return [];
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    throw new LabError(`${layout.faults} is not JSON: ${messageOf(error)}`);
  }
  const result = FaultsSchema.safeParse(input);
  if (!result.success)
    throw new LabError(`${layout.faults} is wrong:`, problemsOf(result.error, input, FaultsSchema));
  return result.data;
}

/** The fault that strikes this command on this machine now, if any; one with `times` is used up by it. */
export async function faultFor(layout: Layout, node: string, command: string): Promise<Fault | undefined> {
  for (const fault of await readFaults(layout)) {
    const meant = fault.node === "*" || fault.node === node;
    if (meant && new RegExp(fault.command, "u").test(command) && (await use(layout, fault))) return fault;
  }
  return undefined;
}

/** Claims one of a fault's strikes: the n-th file of a fault can be made once, by whoever comes first. */
async function use(layout: Layout, fault: Fault): Promise<boolean> {
  if (fault.times === undefined) return true;
  const name = createHash("sha256").update(JSON.stringify(fault)).digest("hex").slice(0, 16);
  await mkdir(layout.run, { recursive: true });
  for (let strike = 1; strike <= fault.times; strike++) {
    try {
      await writeFile(resolve(layout.run, `fault-${name}-${strike}`), "", { flag: "wx" });
      return true;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  }
  return false;
}
