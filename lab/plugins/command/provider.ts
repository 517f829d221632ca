/**
 * A stand-in for pulumi-resource-command, for machines where the official provider is not installed: the resource
 * `command:local:Command` and the function `command:local:run`, with the official semantics. `command:remote:*` is
 * refused.
 *
 * Raw gRPC instead of @pulumi/pulumi/provider, because that hides from a provider the old inputs, the engine's Cancel
 * and which values are secret.
 */
import * as grpc from "@grpc/grpc-js";
import providerRpc from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import type { IResourceProviderServer } from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import providerPb from "@pulumi/pulumi/proto/provider_pb.js";
import pluginPb from "@pulumi/pulumi/proto/plugin_pb.js";
import type { EngineLink } from "../shared/engine-link.ts";
import { EngineLink as Link } from "../shared/engine-link.ts";
import { empty, fromStruct, RpcError, toStruct, unary } from "../shared/rpc.ts";
import type { Plugin } from "../shared/plugin-main.ts";
import { sdkVersion } from "../shared/sdk-versions.ts";
import { check, commandInputs, runInputs } from "./check.ts";
import type { Failure } from "./check.ts";
import { diff, headOf } from "./diff.ts";
import type { Changes } from "./diff.ts";
import { create, newId, remove, run, update } from "./operations.ts";
import type { RunContext } from "./run-command.ts";
import { withoutNulls } from "./values.ts";
import type { Properties } from "./values.ts";

const resourceToken = "command:local:Command";
const functionToken = "command:local:run";

export function standInVersion(): string {
  return `${sdkVersion("@pulumi/command", import.meta.dirname)}+stand-in`;
}

export class CommandProvider implements Plugin {
  #engine: EngineLink | undefined;
  /** Aborted by Cancel and at the end; whatever comes after that is aborted, too. */
  readonly #cancel = new AbortController();
  readonly #working = new Set<Promise<unknown>>();

  constructor(engine: EngineLink | undefined) {
    this.#engine = engine;
  }

  register(server: grpc.Server): void {
    const implementation: Partial<IResourceProviderServer> = {
      handshake: unary(() => {
        const response = new providerPb.ProviderHandshakeResponse();
        response.setAcceptSecrets(true);
        response.setAcceptResources(true);
        return response;
      }),
      attach: unary((request) => {
        this.#engine = new Link(request.getAddress());
        return empty();
      }),
      getPluginInfo: unary(() => {
        const info = new pluginPb.PluginInfo();
        info.setVersion(standInVersion());
        return info;
      }),
      getSchema: unary(() => {
        const response = new providerPb.GetSchemaResponse();
        response.setSchema(
          JSON.stringify({ name: "command", version: standInVersion(), description: standInNote }),
        );
        return response;
      }),
      checkConfig: unary((request) => {
        const response = new providerPb.CheckResponse();
        response.setInputs(request.getNews());
        return response;
      }),
      diffConfig: unary(() => diffResponse(new Map())),
      configure: unary(async () => {
        await this.#engine?.log("", "debug", standInNote, false);
        const response = new providerPb.ConfigureResponse();
        response.setAcceptsecrets(true);
        response.setAcceptresources(true);
        response.setSupportspreview(true);
        return response;
      }),
      check: unary((request) => {
        onlyCommand(request.getUrn());
        const inputs = withoutNulls(fromStruct(request.getNews()));
        const response = new providerPb.CheckResponse();
        response.setInputs(toStruct(inputs));
        response.setFailuresList(check(inputs, commandInputs).map(checkFailure));
        return response;
      }),
      diff: unary((request) => {
        const news = keepIgnored(fromStruct(request.getNews()), fromStruct(request.getOlds()), request);
        return diffResponse(diff(fromStruct(request.getOldInputs()), news));
      }),
      create: unary(async (request, call) => {
        onlyCommand(request.getUrn());
        const properties = await this.#work(request.getUrn(), request.getTimeout(), call, (context) =>
          create(fromStruct(request.getProperties()), request.getPreview(), context),
        );
        const response = new providerPb.CreateResponse();
        response.setId(newId(request.getUrn()));
        response.setProperties(toStruct(properties));
        return response;
      }),
      read: unary((request) => {
        // A command that ran cannot be read back from anywhere: what the state says is what is known.
        const response = new providerPb.ReadResponse();
        response.setId(request.getId());
        response.setProperties(request.getProperties());
        response.setInputs(request.getInputs());
        return response;
      }),
      update: unary(async (request, call) => {
        const state = fromStruct(request.getOlds());
        const inputs = keepIgnored(fromStruct(request.getNews()), state, request);
        const properties = await this.#work(request.getUrn(), request.getTimeout(), call, (context) =>
          update(state, inputs, request.getPreview(), context),
        );
        const response = new providerPb.UpdateResponse();
        response.setProperties(toStruct(properties));
        return response;
      }),
      delete: unary(async (request, call) => {
        await this.#work(request.getUrn(), request.getTimeout(), call, (context) =>
          remove(fromStruct(request.getProperties()), context),
        );
        return empty();
      }),
      invoke: unary(async (request, call) => {
        if (request.getTok() !== functionToken) throw notHere(request.getTok());
        const args = withoutNulls(fromStruct(request.getArgs()));
        const response = new providerPb.InvokeResponse();
        const failures = check(args, runInputs);
        if (failures.length > 0) response.setFailuresList(failures.map(checkFailure));
        else response.setReturn(toStruct(await this.#work("", 0, call, (context) => run(args, context))));
        return response;
      }),
      cancel: unary(() => {
        this.#cancel.abort();
        return empty();
      }),
    };
    server.addService(
      providerRpc.ResourceProviderService,
      implementation as grpc.UntypedServiceImplementation,
    );
  }

  async stop(): Promise<void> {
    this.#cancel.abort();
    await Promise.allSettled(this.#working);
  }

  /**
   * Runs one operation so that Cancel, a cancelled call and its time limit end it.
   * @param timeout in seconds, 0 for none
   */
  async #work<T>(
    urn: string,
    timeout: number,
    call: { on(event: "cancelled", listener: () => void): unknown },
    operation: (context: RunContext) => Promise<T>,
  ): Promise<T> {
    const own = new AbortController();
    call.on("cancelled", () => {
      own.abort();
    });
    const signals = [own.signal, this.#cancel.signal];
    if (timeout > 0) signals.push(AbortSignal.timeout(timeout * 1_000));
    // One after the other: lines must not overtake each other on their way to the engine.
    let queue = Promise.resolve();
    const context: RunContext = {
      log: (line) => {
        queue = queue.then(() => this.#engine?.log(urn, "info", line, true));
      },
      logged: () => queue,
      signal: AbortSignal.any(signals),
    };
    const work = operation(context);
    this.#working.add(work);
    try {
      return await work;
    } finally {
      this.#working.delete(work);
    }
  }
}

export const standInNote =
  "command: this is the lab's stand-in for the official provider. It has command:local:Command and " +
  "command:local:run; for command:remote:* install the official one (pulumi plugin install resource command).";

function notHere(token: string): RpcError {
  return new RpcError(grpc.status.UNIMPLEMENTED, `${token}: ${standInNote}`);
}

function onlyCommand(urn: string): void {
  // urn:pulumi:<stack>::<project>::<parent type>$<type>::<name>
  const type = urn.split("::")[2]?.split("$").at(-1) ?? "";
  if (type !== resourceToken) throw notHere(type);
}

function keepIgnored(
  news: Properties,
  state: Properties,
  request: { getIgnorechangesList(): string[] },
): Record<string, unknown> {
  const kept = request.getIgnorechangesList().filter((name) => name in state);
  return { ...withoutNulls(news), ...Object.fromEntries(kept.map((name) => [name, state[name]])) };
}

function checkFailure(failure: Failure): InstanceType<typeof providerPb.CheckFailure> {
  const out = new providerPb.CheckFailure();
  out.setProperty(failure.property);
  out.setReason(failure.reason);
  return out;
}

function diffResponse(changes: Changes): InstanceType<typeof providerPb.DiffResponse> {
  const kinds = providerPb.PropertyDiff.Kind;
  const kindOf = {
    add: kinds.ADD,
    addReplace: kinds.ADD_REPLACE,
    delete: kinds.DELETE,
    deleteReplace: kinds.DELETE_REPLACE,
    update: kinds.UPDATE,
    updateReplace: kinds.UPDATE_REPLACE,
  } as const;
  const response = new providerPb.DiffResponse();
  const changed = new Set<string>();
  const replacing = new Set<string>();
  for (const [path, kind] of changes) {
    changed.add(headOf(path));
    if (kind.endsWith("Replace")) replacing.add(headOf(path));
    const entry = new providerPb.PropertyDiff();
    entry.setKind(kindOf[kind]);
    response.getDetaileddiffMap().set(path, entry);
  }
  const { DIFF_NONE, DIFF_SOME } = providerPb.DiffResponse.DiffChanges;
  response.setChanges(changes.size > 0 ? DIFF_SOME : DIFF_NONE);
  response.setDiffsList([...changed]);
  response.setReplacesList([...replacing]);
  response.setHasdetaileddiff(true);
  return response;
}
