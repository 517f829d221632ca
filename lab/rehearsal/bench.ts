/**
 * A place to rehearse a plan: a lab cluster, the real engine with a file backend, and a stack whose config points to
 * both. Everything lives below one folder and is ended with it.
 */
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify as toYaml } from "yaml";
import { ensure, type ToolId } from "../../toolchain/index.ts";
import { startLab, type Lab, type LabConfigInput } from "../cluster/index.ts";
import { Engine, type EngineResult, type EngineRun } from "../engine/index.ts";

export interface BenchOptions {
  /** The project's folder: where Pulumi.yaml is. */
  readonly project: string;
  /** Everything of this rehearsal; relative to the project, as the stack's config names it. */
  readonly dir: string;
  /** Folder of artefacts and evidence, relative to the project. */
  readonly out: string;
  readonly stack: string;
  readonly lab: LabConfigInput;
  readonly policyPacks: readonly string[];
  readonly progress: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** Tools that the program's commands call by name. */
const COMMAND_TOOLS: readonly ToolId[] = ["etcdctl", "etcdutl", "kubectl"];

export type StackConfigValues = Readonly<Record<string, unknown>>;

export class Bench {
  readonly options: BenchOptions;
  readonly lab: Lab;
  readonly engine: Engine;
  readonly #configFile: string;
  #config: StackConfigValues;

  private constructor(options: BenchOptions, lab: Lab, engine: Engine, configFile: string) {
    this.options = options;
    this.lab = lab;
    this.engine = engine;
    this.#configFile = configFile;
    this.#config = {};
  }

  /** Starts the lab and makes the stack. Nothing is left running when it fails. */
  static async open(options: BenchOptions): Promise<Bench> {
    const dir = path.join(options.project, options.dir);
    const { progress, signal } = options;
    // State of an earlier rehearsal speaks of a cluster that is gone.
    for (const part of ["pulumi", "state"]) await rm(path.join(dir, part), { recursive: true, force: true });
    const labOptions = {
      dir: path.join(dir, "cluster"),
      progress,
      ...(signal === undefined ? {} : { signal }),
    };
    const lab = await startLab(options.lab, labOptions);
    try {
      const tools = path.join(dir, "bin");
      await linkTools(tools, progress);
      const configFile = path.join(dir, `Pulumi.${options.stack}.yaml`);
      await writeFile(configFile, "config: {}\n");
      const engine = await Engine.open({
        projectDir: options.project,
        pulumiHome: path.join(dir, "pulumi"),
        backendDir: path.join(dir, "state"),
        stack: options.stack,
        passphrase: "rehearsal",
        configFile,
        env: {
          PATH: `${tools}${path.delimiter}${path.dirname(process.execPath)}${path.delimiter}${process.env["PATH"] ?? ""}`,
        },
      });
      const made = await engine.initStack();
      if (made.code !== 0) throw new Error(`the stack could not be made:\n${made.stdout}${made.stderr}`);
      return new Bench(options, lab, engine, configFile);
    } catch (error) {
      await lab.stop({ keepLogs: true });
      throw error;
    }
  }

  /** Replaces the stack's config: what `pulumi config set` would have written. Keys without namespace are the project's. */
  async configure(values: StackConfigValues): Promise<void> {
    this.#config = values;
    await this.#write();
  }

  async setStage(stage: string): Promise<void> {
    this.#config = { ...this.#config, stage };
    await this.#write();
  }

  /** Prefix that runs a command on the lab's machine `{node}`, as ssh would on a real one. */
  get onNode(): string[] {
    return ["lab/bin/on-node", "--lab", path.join(this.options.dir, "cluster"), "{node}", "--"];
  }

  preview(stage?: string): Promise<EngineResult> {
    return this.#at(stage, () => this.engine.startPreview({ policyPacks: this.options.policyPacks }));
  }

  up(stage?: string): Promise<EngineResult> {
    return this.#at(stage, () => this.engine.startUp({ policyPacks: this.options.policyPacks }));
  }

  async startUp(stage: string): Promise<EngineRun> {
    await this.setStage(stage);
    return this.engine.startUp({ policyPacks: this.options.policyPacks });
  }

  async close(options: { keep: boolean } = { keep: false }): Promise<void> {
    await this.lab.stop({ keepLogs: options.keep });
    if (!options.keep)
      await rm(path.join(this.options.project, this.options.dir), { recursive: true, force: true });
  }

  async #at(stage: string | undefined, start: () => EngineRun): Promise<EngineResult> {
    if (stage !== undefined) await this.setStage(stage);
    const { signal } = this.options;
    signal?.throwIfAborted();
    const run = start();
    // Ctrl-C reaches pulumi by the terminal; a SIGTERM to the rehearsal alone does not.
    const stop = (): void => {
      run.kill("SIGINT");
    };
    signal?.addEventListener("abort", stop, { once: true });
    try {
      return await run.result;
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async #write(): Promise<void> {
    const config = Object.fromEntries(
      Object.entries(this.#config).map(([key, value]) => [
        key.includes(":") ? key : `cluster-migration:${key}`,
        value,
      ]),
    );
    await writeFile(this.#configFile, toYaml({ config }));
  }
}

async function linkTools(folder: string, progress: (line: string) => void): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const tool of (await ensure(COMMAND_TOOLS, { progress })).values()) {
    await symlink(tool.path, path.join(folder, tool.name));
  }
}
