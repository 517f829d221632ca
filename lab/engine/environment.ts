/** The environment of a pulumi that asks nothing, fetches nothing and reports nothing. */
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

export interface EnvironmentOptions {
  readonly pulumiHome: string;
  readonly backendDir: string;
  readonly passphrase: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * The caller's environment without any PULUMI_* of the user's (their backend, token or passphrase must not leak into a
 * rehearsal), and with the lab's own.
 * @param experimental plans (`--save-plan`, `--plan`) ask for PULUMI_EXPERIMENTAL; nothing else gets it
 */
export function engineEnvironment(
  options: EnvironmentOptions,
  experimental: boolean,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (value !== undefined && !name.startsWith("PULUMI_")) env[name] = value;
  }
  return {
    // Host, providers, program and commands are node processes that load the same code again and again: with compiled
    // code kept on disk a small preview takes about a third less of processor time.
    NODE_COMPILE_CACHE: join(options.pulumiHome, "node-compile-cache"),
    ...env,
    // Official plugins run the `node` on PATH: let that be the one that runs the lab.
    PATH: [dirname(process.execPath), env["PATH"] ?? ""].filter((part) => part !== "").join(delimiter),
    PULUMI_HOME: options.pulumiHome,
    PULUMI_BACKEND_URL: pathToFileURL(options.backendDir).href,
    PULUMI_CONFIG_PASSPHRASE: options.passphrase,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    // Opens the flag --event-log, as Pulumi's own Automation API does.
    PULUMI_DEBUG_COMMANDS: "true",
    ...(experimental && { PULUMI_EXPERIMENTAL: "true" }),
    ...options.env,
  };
}
