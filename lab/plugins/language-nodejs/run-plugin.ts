/** `RunPlugin`: a policy pack or a plugin written for Node, its output streamed to the engine. */
import * as grpc from "@grpc/grpc-js";
import languagePb from "@pulumi/pulumi/proto/language_pb.js";
import type { RunPluginRequest, RunPluginResponse } from "@pulumi/pulumi/proto/language_pb.js";
import { fromStruct, RpcError } from "../shared/rpc.ts";
import { ProcessGroup } from "../shared/process-group.ts";
import { parseOptions } from "./options.ts";
import { PolicyProxy, policyEnvironment } from "./policy-proxy.ts";
import { locateModule } from "./run-program.ts";

const graceMs = 2_000;

type Call = grpc.ServerWritableStream<RunPluginRequest, RunPluginResponse>;

/**
 * Runs until the plugin ends or the engine cancels the call, which is how the engine ends it.
 * @param track gets the running group, so that the host can end it
 * @throws RpcError when the plugin cannot be started or ends with a status other than 0
 */
export async function runPlugin(call: Call, track: (group: ProcessGroup) => void): Promise<void> {
  const request = call.request;
  const info = request.getInfo();
  const directory = info?.getProgramDirectory() ?? request.getProgram();
  const options = parseOptions(fromStruct(info?.getOptions()));
  const isPolicyPack = request.getKind() === "analyzer";
  const entry = isPolicyPack ? "@pulumi/pulumi/cmd/run-policy-pack" : "@pulumi/pulumi/cmd/run-plugin";
  const runPath = locateModule(entry, directory, `npm install in ${directory}`);

  const env: NodeJS.ProcessEnv = parseEnvironment(request.getEnvList());
  if (options.typescript) env["PULUMI_NODEJS_TYPESCRIPT"] = "true";
  if (options.tsconfig !== undefined) env["PULUMI_NODEJS_TSCONFIG_PATH"] = options.tsconfig;
  // A policy pack gets its folder last, anything else first.
  const args = isPolicyPack
    ? [...options.nodeargs, runPath, ...request.getArgsList(), directory]
    : [...options.nodeargs, runPath, directory, ...request.getArgsList()];

  let cancelled = call.cancelled;
  const proxy = isPolicyPack ? await PolicyProxy.start() : undefined;
  try {
    if (proxy !== undefined) {
      write(call, "stdout", Buffer.from(`${proxy.port}\n`));
      const stack = await Promise.race([proxy.configured, untilCancelled(call)]);
      if (stack === "cancelled") return;
      if (stack !== undefined) Object.assign(env, policyEnvironment(stack));
    }
    const cwd = isPolicyPack ? directory : request.getPwd();
    const group = new ProcessGroup(process.execPath, args, { cwd, env, firstSignal: "SIGTERM", graceMs });
    track(group);
    call.on("cancelled", () => {
      cancelled = true;
      void group.end();
    });
    if (cancelled) void group.end();
    group.child.stderr?.on("data", (chunk: Buffer) => {
      write(call, "stderr", chunk);
    });
    const onOutput = proxy === undefined ? undefined : untilPort(proxy);
    group.child.stdout?.on("data", (chunk: Buffer) => {
      const rest = onOutput === undefined ? chunk : onOutput(chunk);
      if (rest.length > 0) write(call, "stdout", rest);
    });
    const ending = await group.ended.catch((error: unknown) => {
      throw new RpcError(
        grpc.status.UNKNOWN,
        `Problem executing plugin program (could not run language executor): ${String(error)}`,
      );
    });
    if (cancelled || ending.reason === "") return;
    const message = `Program exited with non-zero exit code: ${ending.code ?? -1}`;
    proxy?.fail(new Error(message));
    throw new RpcError(grpc.status.UNKNOWN, message);
  } finally {
    proxy?.close();
  }
}

/** Takes the first line of a pack's stdout as its port and hands back what follows. */
function untilPort(proxy: PolicyProxy): (chunk: Buffer) => Buffer {
  let head: string | undefined = "";
  return (chunk) => {
    if (head === undefined) return chunk;
    head += chunk.toString("utf8");
    const end = head.indexOf("\n");
    if (end < 0) return Buffer.alloc(0);
    const line = head.slice(0, end).trim();
    const rest = head.slice(end + 1);
    head = undefined;
    if (/^\d+$/.test(line)) {
      proxy.attach(Number(line));
      return Buffer.from(rest);
    }
    proxy.fail(
      new Error(`the policy pack printed "${line}" before its port; print to stderr while a pack loads`),
    );
    return Buffer.from(`${line}\n${rest}`);
  };
}

function untilCancelled(call: Call): Promise<"cancelled"> {
  return new Promise((resolve) => {
    if (call.cancelled) resolve("cancelled");
    call.on("cancelled", () => {
      resolve("cancelled");
    });
  });
}

function write(call: Call, stream: "stdout" | "stderr", bytes: Buffer): void {
  if (call.cancelled || call.writableEnded) return;
  const response = new languagePb.RunPluginResponse();
  if (stream === "stdout") response.setStdout(bytes);
  else response.setStderr(bytes);
  call.write(response);
}

function parseEnvironment(entries: readonly string[]): Record<string, string> {
  const env: Record<string, string> = {};
  for (const entry of entries) {
    const at = entry.indexOf("=");
    if (at > 0) env[entry.slice(0, at)] = entry.slice(at + 1);
  }
  return env;
}
