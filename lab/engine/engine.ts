/**
 * The real pulumi CLI, run without questions, without network and with a file backend.
 *
 * Every method runs one `pulumi` process and resolves with what it said, whatever its exit status: a rehearsal needs
 * refusals as much as successes. Only `ok()` turns a failure into an error.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { installPlugins } from "../plugins/install.ts";
import type { InstalledPlugins } from "../plugins/install.ts";
import { ensure } from "../../toolchain/index.ts";
import { engineEnvironment } from "./environment.ts";
import { parseEvents } from "./events.ts";
import type { EngineEvent } from "./events.ts";

export interface EngineOptions {
  /** The folder with Pulumi.yaml. */
  readonly projectDir: string;
  /** A PULUMI_HOME of the lab's own: plugins, and the workspace's memory of which stack is selected. */
  readonly pulumiHome: string;
  /** The folder of the file backend; made if it is missing. */
  readonly backendDir: string;
  /** The stack's name, without organization and project. */
  readonly stack: string;
  /** For the stack's passphrase secrets provider. */
  readonly passphrase: string;
  /** The stack's config file; default: Pulumi.<stack>.yaml beside Pulumi.yaml. */
  readonly configFile?: string;
  /** Added to the environment of pulumi, program, providers and commands. */
  readonly env?: Readonly<Record<string, string>>;
  /** The pulumi executable. Default: the toolchain's. */
  readonly pulumi?: string;
  /** The kubernetes provider, used where the official one is missing. Default: the toolchain's if `pulumi` is, too. */
  readonly kubernetesProvider?: string;
  /** The user's own PULUMI_HOME, searched for official plugins. */
  readonly userHome?: string;
}

export interface EngineResult {
  readonly command: string;
  /** The exit status; null when a signal ended it. */
  readonly code: number | null;
  readonly signal: string | undefined;
  readonly stdout: string;
  readonly stderr: string;
  /** What the engine did, for preview, up and destroy; empty otherwise. */
  readonly events: readonly EngineEvent[];
  readonly milliseconds: number;
}

/** A pulumi process under way. */
export interface EngineRun {
  readonly pid: number;
  /** To pulumi alone, as a shell's `kill` would; SIGINT is what Ctrl-C sends. */
  kill(signal: NodeJS.Signals): void;
  /** Whatever it has printed to stdout so far. */
  output(): string;
  readonly result: Promise<EngineResult>;
}

export interface PreviewOptions {
  readonly policyPacks?: readonly string[];
  /** Shows the diff as JSON on stdout instead of text. */
  readonly json?: boolean;
  /** Saves what the preview shows as a plan that `up` can be bound to. */
  readonly savePlan?: string;
  /** Shows every property that changes. */
  readonly diff?: boolean;
  readonly args?: readonly string[];
}

export interface UpOptions {
  readonly policyPacks?: readonly string[];
  /** A plan from `savePlan`: a program that has changed since is refused. */
  readonly plan?: string;
  readonly args?: readonly string[];
}

export class Engine {
  readonly options: EngineOptions;
  readonly plugins: InstalledPlugins;
  readonly #pulumi: string;
  #count = 0;

  private constructor(options: EngineOptions, pulumi: string, plugins: InstalledPlugins) {
    this.options = options;
    this.#pulumi = pulumi;
    this.plugins = plugins;
  }

  /** Finds pulumi, installs missing plugins and makes the folders; starts nothing. */
  static async open(options: EngineOptions): Promise<Engine> {
    let { pulumi, kubernetesProvider } = options;
    if (pulumi === undefined) {
      const found = await ensure(["pulumi", "pulumi-resource-kubernetes"]);
      pulumi = found.get("pulumi")?.path;
      kubernetesProvider ??= found.get("pulumi-resource-kubernetes")?.path;
      if (pulumi === undefined) throw new Error("the toolchain has no pulumi: see toolchain/README.md");
    }
    await mkdir(options.backendDir, { recursive: true });
    await mkdir(options.pulumiHome, { recursive: true });
    const plugins = await installPlugins(options.pulumiHome, {
      projectDir: options.projectDir,
      pulumi,
      ...(kubernetesProvider !== undefined && { kubernetesProvider }),
      ...(options.userHome !== undefined && { userHome: options.userHome }),
    });
    return new Engine(options, pulumi, plugins);
  }

  /**
   * Makes the stack if it is not there yet. pulumi then writes the salt of the passphrase beside Pulumi.yaml, whatever
   * the config file: with `configFile` the stack is made in a copy, so that the project stays as it was, also when
   * another rehearsal makes its own at the same moment.
   */
  async initStack(): Promise<EngineResult> {
    const { configFile, projectDir, pulumiHome, stack } = this.options;
    const make = ["stack", "select", stack, "--create", "--secrets-provider", "passphrase"];
    if (configFile === undefined) return await this.#run(make).result;
    const copy = join(pulumiHome, "project");
    await mkdir(copy, { recursive: true });
    await copyFile(join(projectDir, "Pulumi.yaml"), join(copy, "Pulumi.yaml"));
    const result = await this.#run([...make, "--cwd", copy]).result;
    const salt = join(copy, `Pulumi.${stack}.yaml`);
    if (existsSync(salt) && !existsSync(configFile)) await copyFile(salt, configFile);
    return result;
  }

  /** @param key with its namespace, or without for the project's own */
  setConfig(key: string, value: string, kind: "plain" | "secret" = "plain"): Promise<EngineResult> {
    // The value goes through stdin: a command line is there for all users of the machine to read.
    return this.#run(
      ["config", "set", `--${kind === "secret" ? "secret" : "plaintext"}`, key, ...this.#target()],
      {
        input: value,
      },
    ).result;
  }

  removeConfig(key: string): Promise<EngineResult> {
    return this.#run(["config", "rm", key, ...this.#target()]).result;
  }

  preview(options: PreviewOptions = {}): Promise<EngineResult> {
    return this.startPreview(options).result;
  }

  startPreview(options: PreviewOptions = {}): EngineRun {
    return this.#run(
      [
        "preview",
        ...this.#target(),
        ...packs(options.policyPacks),
        ...(options.json === true ? ["--json"] : []),
        ...(options.diff === true ? ["--diff"] : []),
        ...(options.savePlan === undefined ? [] : ["--save-plan", options.savePlan]),
        ...(options.args ?? []),
      ],
      { events: true, experimental: options.savePlan !== undefined },
    );
  }

  up(options: UpOptions = {}): Promise<EngineResult> {
    return this.startUp(options).result;
  }

  startUp(options: UpOptions = {}): EngineRun {
    return this.#run(
      [
        "up",
        "--yes",
        "--skip-preview",
        ...this.#target(),
        ...packs(options.policyPacks),
        ...(options.plan === undefined ? [] : ["--plan", options.plan]),
        ...(options.args ?? []),
      ],
      { events: true, experimental: options.plan !== undefined },
    );
  }

  destroy(): Promise<EngineResult> {
    return this.#run(["destroy", "--yes", "--skip-preview", ...this.#target()], { events: true }).result;
  }

  refresh(args: readonly string[] = []): Promise<EngineResult> {
    return this.#run(["refresh", "--yes", "--skip-preview", ...this.#target(), ...args], { events: true })
      .result;
  }

  /** Releases the lock that a killed update left behind. */
  cancel(): Promise<EngineResult> {
    return this.#run(["cancel", "--yes", "--stack", this.options.stack]).result;
  }

  /** The state as `pulumi stack export` writes it, secrets encrypted. */
  async exportState(): Promise<Deployment> {
    const result = ok(await this.#run(["stack", "export", "--stack", this.options.stack]).result);
    return JSON.parse(result.stdout) as Deployment;
  }

  /** The outputs of the last update. @param showSecrets reveals them; otherwise they read "[secret]" */
  async outputs(showSecrets = false): Promise<Record<string, unknown>> {
    const result = ok(
      await this.#run([
        "stack",
        "output",
        "--json",
        "--stack",
        this.options.stack,
        ...(showSecrets ? ["--show-secrets"] : []),
      ]).result,
    );
    return JSON.parse(result.stdout) as Record<string, unknown>;
  }

  /** Any other pulumi command. */
  run(args: readonly string[]): Promise<EngineResult> {
    return this.#run(args).result;
  }

  #target(): string[] {
    const { stack, configFile } = this.options;
    return ["--stack", stack, ...(configFile === undefined ? [] : ["--config-file", configFile])];
  }

  #run(
    args: readonly string[],
    options: { readonly input?: string; readonly events?: boolean; readonly experimental?: boolean } = {},
  ): EngineRun {
    const started = performance.now();
    const eventLog = join(this.options.pulumiHome, `events-${process.pid}-${++this.#count}.jsonl`);
    const all = [
      ...args,
      "--non-interactive",
      "--color",
      "never",
      ...(options.events === true ? ["--event-log", eventLog] : []),
    ];
    const child = execa(this.#pulumi, all, {
      cwd: this.options.projectDir,
      env: engineEnvironment(this.options, options.experimental === true),
      extendEnv: false,
      reject: false,
      // pulumi takes SIGTERM as it takes Ctrl-C: it cancels and then writes its state. Killing it sooner loses that.
      forceKillAfterDelay: false,
      stripFinalNewline: false,
      ...(options.input === undefined ? { stdin: "ignore" as const } : { input: options.input }),
    });
    let printed = "";
    child.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString("utf8");
    });
    const result = (async (): Promise<EngineResult> => {
      const ended = await child;
      if (child.pid === undefined) {
        throw new Error(`${this.#pulumi} could not be started: ${String(ended.originalMessage)}`);
      }
      const events =
        options.events === true ? parseEvents(await readFile(eventLog, "utf8").catch(() => "")) : [];
      await rm(eventLog, { force: true });
      return {
        command: `pulumi ${args.join(" ")}`,
        code: ended.exitCode ?? null,
        signal: ended.signal,
        stdout: ended.stdout,
        stderr: ended.stderr,
        events,
        milliseconds: Math.round(performance.now() - started),
      };
    })();
    return {
      pid: child.pid ?? -1,
      kill: (signal) => {
        child.kill(signal);
      },
      output: () => printed,
      result,
    };
  }
}

/** The part of an exported state that callers look into. */
export interface Deployment {
  readonly version: number;
  readonly deployment: {
    readonly resources?: readonly {
      readonly urn: string;
      readonly type: string;
      readonly inputs?: Readonly<Record<string, unknown>>;
      readonly outputs?: Readonly<Record<string, unknown>>;
    }[];
    readonly pending_operations?: readonly {
      readonly type: string;
      readonly resource: { readonly urn: string };
    }[];
  };
}

/** @throws with all that pulumi said when it failed */
export function ok(result: EngineResult): EngineResult {
  if (result.code === 0) return result;
  const how =
    result.code === null ? `was ended by ${result.signal ?? "a signal"}` : `failed (exit ${result.code})`;
  throw new Error(`${result.command} ${how}\n${result.stdout}\n${result.stderr}`);
}

function packs(folders: readonly string[] | undefined): string[] {
  return (folders ?? []).flatMap((folder) => ["--policy-pack", folder]);
}
