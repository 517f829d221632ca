/**
 * The little of gRPC that both stand-ins need: a server on loopback that announces itself the way the engine expects
 * (the port, alone on the first line of stdout), and promise-shaped handlers.
 */
import { createRequire } from "node:module";
import * as grpc from "@grpc/grpc-js";
import type { Empty } from "google-protobuf/google/protobuf/empty_pb.js";
import type { JavaScriptValue, Struct } from "google-protobuf/google/protobuf/struct_pb.js";

// The generated message classes check `instanceof`, so Empty and Struct have to come from the very copy of
// google-protobuf that @pulumi/pulumi loads, wherever npm has put it.
const fromPulumi = createRequire(createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json"));
const emptyModule = fromPulumi("google-protobuf/google/protobuf/empty_pb.js") as { Empty: new () => Empty };
const structModule = fromPulumi("google-protobuf/google/protobuf/struct_pb.js") as {
  Struct: { fromJavaScript(value: Record<string, JavaScriptValue>): Struct };
};

/** The engine itself allows messages of 400 MiB (sdk/go/common/util/rpcutil), so both sides here do too. */
const maxMessageBytes = 400 * 1024 * 1024;
export const channelOptions: grpc.ChannelOptions = {
  "grpc.max_receive_message_length": maxMessageBytes,
  "grpc.max_send_message_length": maxMessageBytes,
};

/** An error that reaches the engine with a gRPC status of our choice. */
export class RpcError extends Error {
  readonly code: grpc.status;
  constructor(code: grpc.status, message: string) {
    super(message);
    this.name = "RpcError";
    this.code = code;
  }
}

export function empty(): Empty {
  return new emptyModule.Empty();
}

/** A plain object (with Pulumi's signature objects inside) as a protobuf Struct. */
export function toStruct(value: Readonly<Record<string, unknown>>): Struct {
  return structModule.Struct.fromJavaScript(value as Record<string, JavaScriptValue>);
}

/** The plain object behind a protobuf Struct; an absent one is empty. */
export function fromStruct(value: Struct | undefined): Record<string, unknown> {
  return value === undefined ? {} : value.toJavaScript();
}

/** Lets a gRPC method be an ordinary function that returns its response or throws. */
export function unary<Request, Response>(
  handler: (request: Request, call: grpc.ServerUnaryCall<Request, Response>) => Response | Promise<Response>,
): grpc.handleUnaryCall<Request, Response> {
  return (call, callback) => {
    const run = async (): Promise<Response> => handler(call.request, call);
    run().then(
      (response) => {
        callback(null, response);
      },
      (error: unknown) => {
        callback(asStatus(error));
      },
    );
  };
}

export function asStatus(error: unknown): { code: grpc.status; details: string } {
  if (error instanceof RpcError) return { code: error.code, details: error.message };
  return { code: grpc.status.UNKNOWN, details: error instanceof Error ? error.message : String(error) };
}

/** Binds to a free port of loopback; the caller announces it. */
export async function serve(
  register: (server: grpc.Server) => void,
): Promise<{ server: grpc.Server; port: number }> {
  const server = new grpc.Server(channelOptions);
  register(server);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  return { server, port };
}

/** Flags the engine may put before the address (`--logtostderr`, `-v=9`, `--tracing URL`) are read over. */
export function engineAddressFrom(args: readonly string[]): string | undefined {
  const rest: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--tracing" || arg === "-tracing") i++;
    else if (!arg.startsWith("-")) rest.push(arg);
  }
  return rest[0];
}
