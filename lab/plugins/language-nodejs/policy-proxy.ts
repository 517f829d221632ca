/**
 * Stands between the engine and a policy pack until the stack's name and config are known.
 *
 * A pack reads them from its environment when it loads; the engine sends them only after the pack answers. So the host
 * answers first, starts the pack when the engine's ConfigureStack arrives, and from then on passes every call through
 * untouched (the official host does the same, sdk/policy_proxy.go).
 */
import * as grpc from "@grpc/grpc-js";
import analyzerRpc from "@pulumi/pulumi/proto/analyzer_grpc_pb.js";
import analyzerPb from "@pulumi/pulumi/proto/analyzer_pb.js";
import { asStatus, channelOptions, serve } from "../shared/rpc.ts";

export interface StackConfiguration {
  readonly organization: string;
  readonly project: string;
  readonly stack: string;
  readonly dryRun: boolean;
  readonly config: Readonly<Record<string, string>>;
}

/** The environment through which @pulumi/pulumi in the pack learns about the stack. */
export function policyEnvironment(stack: StackConfiguration): Record<string, string> {
  return {
    PULUMI_NODEJS_ORGANIZATION: stack.organization,
    PULUMI_NODEJS_PROJECT: stack.project,
    PULUMI_NODEJS_STACK: stack.stack,
    PULUMI_NODEJS_DRY_RUN: String(stack.dryRun),
    PULUMI_CONFIG: JSON.stringify(stack.config),
  };
}

const passThrough = (bytes: Buffer): Buffer => bytes;

export class PolicyProxy {
  readonly port: number;
  /** The stack's configuration, or undefined when the engine goes on without one (`pulumi policy publish`). */
  readonly configured: Promise<StackConfiguration | undefined>;
  readonly #server: grpc.Server;
  readonly #pack: PromiseWithResolvers<grpc.Client>;

  private constructor(
    server: grpc.Server,
    port: number,
    configured: Promise<StackConfiguration | undefined>,
    pack: PromiseWithResolvers<grpc.Client>,
  ) {
    this.#server = server;
    this.port = port;
    this.configured = configured;
    this.#pack = pack;
  }

  static async start(): Promise<PolicyProxy> {
    const configured = Promise.withResolvers<StackConfiguration | undefined>();
    const pack = Promise.withResolvers<grpc.Client>();
    pack.promise.catch(() => undefined);
    let configureBytes: Buffer | undefined;

    const handlers: Record<string, grpc.handleUnaryCall<Buffer, Buffer>> = {};
    const definition: Record<string, grpc.MethodDefinition<Buffer, Buffer>> = {};
    for (const [name, method] of Object.entries(analyzerRpc.AnalyzerService)) {
      definition[name] = {
        path: method.path,
        requestStream: false,
        responseStream: false,
        requestSerialize: passThrough,
        requestDeserialize: passThrough,
        responseSerialize: passThrough,
        responseDeserialize: passThrough,
      };
      handlers[name] = (call, callback) => {
        configured.resolve(undefined);
        pack.promise.then(
          (client) => {
            forward(client, method.path, call.request, callback);
          },
          (error: unknown) => {
            callback(asStatus(error));
          },
        );
      };
    }
    handlers["handshake"] = (_call, callback) => {
      callback(null, Buffer.from(new analyzerPb.AnalyzerHandshakeResponse().serializeBinary()));
    };
    handlers["configureStack"] = (call, callback) => {
      configureBytes = call.request;
      configured.resolve(stackConfiguration(call.request));
      // Answered once the pack has taken it in, so that a pack that fails to load fails here and now.
      pack.promise.then(
        (client) => {
          forward(
            client,
            analyzerRpc.AnalyzerService.configureStack.path,
            configureBytes ?? Buffer.alloc(0),
            (error, reply) => {
              // A pack on an older SDK knows no ConfigureStack; the environment has told it already.
              if (error?.code === grpc.status.UNIMPLEMENTED) {
                callback(
                  null,
                  Buffer.from(new analyzerPb.AnalyzerStackConfigureResponse().serializeBinary()),
                );
              } else {
                callback(error, reply);
              }
            },
          );
        },
        (error: unknown) => {
          callback(asStatus(error));
        },
      );
    };
    const { server, port } = await serve((s) => {
      s.addService(definition, handlers);
    });
    return new PolicyProxy(server, port, configured.promise, pack);
  }

  /** The pack listens: from now on calls reach it. */
  attach(port: number): void {
    this.#pack.resolve(
      new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), channelOptions),
    );
  }

  /** The pack will never listen. */
  fail(error: Error): void {
    this.#pack.reject(error);
  }

  close(): void {
    this.#pack.reject(new Error("the policy pack has ended"));
    this.#pack.promise.then(
      (client) => {
        client.close();
      },
      () => undefined,
    );
    // Answers under way still go out: one of them may be the reason why the pack has ended.
    const impatient = setTimeout(() => {
      this.#server.forceShutdown();
    }, 1_000);
    this.#server.tryShutdown(() => {
      clearTimeout(impatient);
    });
  }
}

interface Reply {
  code?: grpc.status;
  details?: string;
}

function forward(
  client: grpc.Client,
  path: string,
  request: Buffer,
  callback: (error: Reply | null, value?: Buffer) => void,
): void {
  client.makeUnaryRequest(path, passThrough, passThrough, request, (error, value) => {
    if (error === null) callback(null, value);
    else callback({ code: error.code, details: error.details });
  });
}

function stackConfiguration(bytes: Buffer): StackConfiguration {
  const request = analyzerPb.AnalyzerStackConfigureRequest.deserializeBinary(bytes);
  return {
    organization: request.getOrganization(),
    project: request.getProject(),
    stack: request.getStack(),
    dryRun: request.getDryRun(),
    config: Object.fromEntries(request.getConfigMap().getEntryList()),
  };
}
