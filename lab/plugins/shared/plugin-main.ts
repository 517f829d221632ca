/** The life of a plugin process: serve, announce the port, and leave nothing behind at the end. */
import type * as grpc from "@grpc/grpc-js";
import { EngineLink } from "./engine-link.ts";
import { serve } from "./rpc.ts";

export interface Plugin {
  register(server: grpc.Server): void;
  /** Ends whatever the plugin has running; resolves when nothing is left. */
  stop(): Promise<void>;
}

/**
 * Runs a plugin until the engine closes it (SIGINT to its group, see `Plugin.Kill` in sdk/go/common/resource/plugin),
 * SIGTERM or SIGHUP comes, or the engine dies.
 * @param start gets the link to the engine, absent when the engine's address is not known
 */
export async function runPlugin(
  engineAddress: string | undefined,
  start: (engine: EngineLink | undefined) => Plugin,
): Promise<void> {
  const engine = engineAddress === undefined ? undefined : new EngineLink(engineAddress);
  const plugin = start(engine);
  let stopping = false;
  const stop = (code: number): void => {
    if (stopping) return;
    stopping = true;
    void plugin
      .stop()
      .catch(() => undefined)
      .finally(() => {
        process.exit(code);
      });
  };
  process.on("SIGINT", () => {
    stop(0);
  });
  process.on("SIGTERM", () => {
    stop(0);
  });
  process.on("SIGHUP", () => {
    stop(0);
  });
  // The engine's end of these pipes is gone when the engine is; a write must not end this process half-way.
  process.stdout.on("error", () => undefined);
  process.stderr.on("error", () => undefined);
  engine?.onGone(() => {
    stop(1);
  });
  const { port } = await serve((server) => {
    plugin.register(server);
  });
  process.stdout.write(`${port}\n`);
}
