/** `Run`: one Pulumi program in a node of its own, from start to the answer the engine expects. */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { RunRequest } from "@pulumi/pulumi/proto/language_pb.js";
import { fromStruct } from "../shared/rpc.ts";
import { ProcessGroup } from "../shared/process-group.ts";
import { parseOptions } from "./options.ts";

/** By this exit status the SDK says: the user has been told already, add nothing. (@pulumi/pulumi/cmd/run) */
const toldTheUser = 32;
/**
 * Between SIGINT and SIGKILL for a cancelled program. The official host gives 5 s; the engine gives the host 5 s, too,
 * and this one wants to be done before.
 */
const graceMs = 3_000;

export interface RunOutcome {
  /** "" when the program ended well. */
  readonly error: string;
  /** The program failed and has said why by itself. */
  readonly bail: boolean;
}

/** @throws with a hint to install when the module cannot be found from the program's folder */
export function locateModule(name: string, directory: string, installCommand: string): string {
  try {
    return createRequire(join(directory, "package.json")).resolve(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "MODULE_NOT_FOUND") {
      throw new Error(`It looks like the Pulumi SDK has not been installed. Have you run ${installCommand}?`);
    }
    throw error;
  }
}

/** The command line of @pulumi/pulumi/cmd/run for a request. */
export function programArguments(request: RunRequest, runPath: string, engineAddress: string): string[] {
  const info = request.getInfo();
  const args = [runPath];
  const flag = (name: string, value: string | undefined): void => {
    if (value !== undefined && value !== "") args.push(`--${name}`, value);
  };
  // The SDK speaks to the engine's monitor directly. The official host puts a proxy in between for the synchronous
  // invokes of SDKs from before 2020; the SDK this project pins has none.
  flag("monitor", request.getMonitorAddress());
  flag("engine", engineAddress);
  flag("organization", request.getOrganization());
  flag("project", request.getProject());
  flag("root-directory", info?.getRootDirectory());
  flag("stack", request.getStack());
  flag("pwd", info?.getProgramDirectory());
  if (request.getDryrun()) args.push("--dry-run");
  flag("parallel", String(request.getParallel()));
  args.push(info?.getEntryPoint() ?? ".", ...request.getArgsList());
  return args;
}

/** Config for the SDK's PULUMI_CONFIG: keys in the form `<namespace>:config:<name>`, which every SDK understands. */
export function programConfig(config: Iterable<readonly [string, string]>): Record<string, string> {
  const out: Record<string, string> = {};
  for (const [key, value] of config) {
    const parts = key.split(":");
    const namespace = parts[0] ?? "";
    const name =
      parts[1] === "config" && parts.length > 2 ? parts.slice(2).join(":") : parts.slice(1).join(":");
    out[`${namespace}:config:${name}`] = value;
  }
  return out;
}

/**
 * @param track gets the running group, so that the host can end it
 */
export async function runProgram(
  request: RunRequest,
  engineAddress: string,
  track: (group: ProcessGroup) => void,
): Promise<RunOutcome> {
  const info = request.getInfo();
  const directory = info?.getProgramDirectory() ?? "";
  let group: ProcessGroup;
  const seen = { outOfMemory: false };
  try {
    const options = parseOptions(fromStruct(info?.getOptions()));
    const runPath = locateModule(
      process.env["PULUMI_LANGUAGE_NODEJS_RUN_PATH"] ?? "@pulumi/pulumi/cmd/run",
      directory,
      "pulumi install",
    );
    const env: NodeJS.ProcessEnv = {
      ...process.env,
      PULUMI_CONFIG: JSON.stringify(programConfig(request.getConfigMap().getEntryList())),
      PULUMI_CONFIG_SECRET_KEYS: JSON.stringify(request.getConfigsecretkeysList()),
      ...(options.typescript && { PULUMI_NODEJS_TYPESCRIPT: "true" }),
      ...(options.tsconfig !== undefined && { PULUMI_NODEJS_TSCONFIG_PATH: options.tsconfig }),
    };
    const args = [...options.nodeargs, ...programArguments(request, runPath, engineAddress)];
    group = new ProcessGroup(process.execPath, args, {
      cwd: process.cwd(),
      env,
      firstSignal: "SIGINT",
      graceMs,
    });
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error), bail: false };
  }
  track(group);
  group.child.stdout?.on("data", (chunk: Buffer) => process.stdout.write(chunk));
  group.child.stderr?.on("data", (chunk: Buffer) => {
    if (chunk.includes("<--- Last few GCs --->")) seen.outOfMemory = true;
    process.stderr.write(chunk);
  });
  try {
    const { code } = await group.ended;
    if (code === 0) return { error: "", bail: false };
    if (code === toldTheUser) return { error: "", bail: true };
    // Go reports a process that died of a signal with exit code -1.
    const error = `Program exited with non-zero exit code: ${code ?? -1}`;
    return { error: seen.outOfMemory ? `${error}. ${outOfMemoryHint}` : error, bail: false };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { error: `Problem executing program (could not run language executor): ${reason}`, bail: false };
  }
}

const outOfMemoryHint =
  "The program seems to have run out of memory. Raise the limit by `nodeargs: --max-old-space-size=<megabytes>` " +
  "among the runtime options in Pulumi.yaml.";
