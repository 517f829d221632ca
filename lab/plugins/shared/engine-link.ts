/**
 * The way back to the engine: its log, and the knowledge that it is still there.
 *
 * A plugin that outlives a killed engine goes on changing the cluster with nobody watching. Official plugins ask the
 * engine every five minutes whether it is alive (sdk/go/common/util/rpcutil/health.go); on loopback the kernel closes
 * a dead process's sockets at once, so here the channel itself is watched and the answer comes within a second or two.
 */
import * as grpc from "@grpc/grpc-js";
import engineRpc from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import enginePb from "@pulumi/pulumi/proto/engine_pb.js";
import { channelOptions } from "./rpc.ts";

export type Severity = "debug" | "info" | "warning" | "error";

const severities = {
  debug: enginePb.LogSeverity.DEBUG,
  info: enginePb.LogSeverity.INFO,
  warning: enginePb.LogSeverity.WARNING,
  error: enginePb.LogSeverity.ERROR,
} as const;

/** How long a lost channel may take to come back before the engine counts as dead, in milliseconds. */
const reconnectWithin = 1_500;
/** How long the engine may take to answer the very first time, in milliseconds. */
const connectWithin = 10_000;

export class EngineLink {
  readonly address: string;
  readonly #client: engineRpc.EngineClient;
  readonly #gone: (() => void)[] = [];
  #closed = false;

  constructor(address: string) {
    this.address = address;
    this.#client = new engineRpc.EngineClient(address, grpc.credentials.createInsecure(), {
      ...channelOptions,
      // Without these, grpc-js waits up to 2 minutes between attempts and drops an idle channel after 30 minutes.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 500,
      "grpc.client_idle_timeout_ms": 2_147_483_647,
    });
  }

  /**
   * One line into the engine's log.
   * @param urn the resource it belongs to, or "" for the whole update
   * @param ephemeral a status line: shown while the resource is worked on, left out of the summary at the end
   */
  async log(urn: string, severity: Severity, message: string, ephemeral: boolean): Promise<void> {
    const request = new enginePb.LogRequest();
    request.setUrn(urn);
    request.setSeverity(severities[severity]);
    request.setMessage(message);
    request.setEphemeral(ephemeral);
    await new Promise<void>((resolve) => {
      // A log line that cannot be delivered is no reason to fail the work it reports on.
      this.#client.log(request, () => {
        resolve();
      });
    });
  }

  /** Calls back once when the engine has gone away. */
  onGone(callback: () => void): void {
    this.#gone.push(callback);
    if (this.#gone.length === 1) this.#watch(connectWithin);
  }

  close(): void {
    this.#closed = true;
    this.#client.close();
  }

  #watch(within: number): void {
    this.#client.waitForReady(Date.now() + within, (error) => {
      if (this.#closed) return;
      if (error !== undefined) {
        this.#closed = true;
        for (const callback of this.#gone) callback();
        return;
      }
      this.#client.getChannel().watchConnectivityState(grpc.connectivityState.READY, Infinity, () => {
        if (!this.#closed) this.#watch(reconnectWithin);
      });
    });
  }
}
