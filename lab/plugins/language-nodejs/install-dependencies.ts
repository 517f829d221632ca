/** `InstallDependencies`: npm, its output streamed to the engine. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type * as grpc from "@grpc/grpc-js";
import languagePb from "@pulumi/pulumi/proto/language_pb.js";
import type {
  InstallDependenciesRequest,
  InstallDependenciesResponse,
} from "@pulumi/pulumi/proto/language_pb.js";
import { fromStruct } from "../shared/rpc.ts";
import { ProcessGroup } from "../shared/process-group.ts";
import { parseOptions } from "./options.ts";

/**
 * `npm ci` where there is a lockfile, else `npm install`.
 * @throws when another package manager is asked for, or npm fails
 */
export async function installDependencies(
  call: grpc.ServerWritableStream<InstallDependenciesRequest, InstallDependenciesResponse>,
  track: (group: ProcessGroup) => void,
): Promise<void> {
  const info = call.request.getInfo();
  const directory = info?.getProgramDirectory() ?? call.request.getDirectory();
  const options = parseOptions(fromStruct(info?.getOptions()));
  if (!["auto", "npm"].includes(options.packagemanager)) {
    throw new Error(
      `packagemanager "${options.packagemanager}": the stand-in for pulumi-language-nodejs installs with npm only. ` +
        "Install the dependencies yourself, or install the official Pulumi CLI.",
    );
  }
  const command = existsSync(join(directory, "package-lock.json")) ? "ci" : "install";
  const args = [command, "--loglevel=error", ...(options.production ? ["--omit=dev"] : [])];
  const out = (stream: "stdout" | "stderr", bytes: Buffer): void => {
    const response = new languagePb.InstallDependenciesResponse();
    if (stream === "stdout") response.setStdout(bytes);
    else response.setStderr(bytes);
    call.write(response);
  };
  out("stdout", Buffer.from(`Installing dependencies with npm ${args.join(" ")}\n`));
  const group = new ProcessGroup("npm", args, {
    cwd: directory,
    env: process.env,
    firstSignal: "SIGTERM",
    graceMs: 2_000,
  });
  track(group);
  call.on("cancelled", () => void group.end());
  group.child.stdout?.on("data", (bytes: Buffer) => {
    out("stdout", bytes);
  });
  group.child.stderr?.on("data", (bytes: Buffer) => {
    out("stderr", bytes);
  });
  const { reason } = await group.ended;
  if (reason !== "") throw new Error(`npm ${args.join(" ")} in ${directory}: ${reason}`);
}
