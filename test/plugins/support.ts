/** Shared by the tests of the stand-in plugins: a recording engine, plugins as real processes, process look-ups. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type * as grpc from "@grpc/grpc-js";
import engineRpc from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import type { IEngineServer } from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import { onTestFinished } from "vitest";
import { empty, serve, unary } from "../../lab/plugins/shared/rpc.ts";

export const root = join(import.meta.dirname, "../..");

export interface LogLine {
  readonly urn: string;
  readonly message: string;
  readonly ephemeral: boolean;
  readonly at: number;
}

/** An engine that does nothing but keep its log. */
export async function recordingEngine(): Promise<{ address: string; log: LogLine[]; die: () => void }> {
  const log: LogLine[] = [];
  const implementation: Partial<IEngineServer> = {
    log: unary((request) => {
      log.push({
        urn: request.getUrn(),
        message: request.getMessage(),
        ephemeral: request.getEphemeral(),
        at: performance.now(),
      });
      return empty();
    }),
  };
  const { server, port } = await serve((s) => {
    s.addService(engineRpc.EngineService, implementation as grpc.UntypedServiceImplementation);
  });
  const die = (): void => {
    server.forceShutdown();
  };
  onTestFinished(die);
  return { address: `127.0.0.1:${port}`, log, die };
}

export interface RunningPlugin {
  readonly process: ChildProcess;
  readonly address: string;
  readonly exited: Promise<number | null>;
}

/** Starts a plugin as the engine does: its own process group, the port on the first line of stdout. */
export async function startPlugin(main: string, engineAddress: string): Promise<RunningPlugin> {
  const child = spawn(process.execPath, [join(root, "lab/plugins", main), engineAddress], {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
    cwd: root,
  });
  const exited = new Promise<number | null>((resolve) => child.once("exit", resolve));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  const port = await new Promise<string>((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes("\n")) resolve(text.slice(0, text.indexOf("\n")));
    });
    child.once("exit", (code) => {
      reject(new Error(`${main} ended with ${String(code)} before it gave its port`));
    });
  });
  return { process: child, address: `127.0.0.1:${port}`, exited };
}

/** Calls a unary method and gives its response, or throws the gRPC error. */
export function call<Request, Response>(
  client: grpc.Client,
  method: grpc.MethodDefinition<Request, Response>,
  request: Request,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      (error, value) => {
        if (error !== null) reject(error);
        else if (value === undefined) reject(new Error("no response"));
        else resolve(value);
      },
    );
  });
}

export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), "lab-plugins-"));
  onTestFinished(() => {
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

/** Processes whose command line contains the text; a zombie's is empty. */
export function processesWith(text: string): number[] {
  return processesWhere("cmdline", text);
}

/** Processes whose environment contains the text: all that a pulumi with that PULUMI_HOME has started, itself included. */
export function processesUnder(text: string): number[] {
  return processesWhere("environ", text);
}

function processesWhere(file: "cmdline" | "environ", text: string): number[] {
  return readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const content = readFileSync(`/proc/${entry}/${file}`, "utf8").replaceAll("\0", " ");
      return content.includes(text) && Number(entry) !== process.pid ? [Number(entry)] : [];
    } catch {
      return [];
    }
  });
}

/** Waits until the condition holds. @throws when it does not within the time, in milliseconds */
export async function until(what: string, condition: () => boolean, within = 10_000): Promise<void> {
  const deadline = Date.now() + within;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`not within ${within} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

let nextMark = 60_000 + (process.pid % 10_000) * 100;

/**
 * A duration that nobody else sleeps for, in seconds, so that the processes of one test can be told from all others.
 * Whatever still runs with it when the test is over is killed.
 */
export function mark(): string {
  const time = String(nextMark++);
  onTestFinished(() => {
    for (const pid of processesWith(time)) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It has ended by itself in between.
      }
    }
  });
  return time;
}
