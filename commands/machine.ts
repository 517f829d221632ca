/** Runs commands on a node's machine, by the config's `exec` prefix (ssh, a session manager, a lab's stand-in). */
import { z } from "zod";
import { Refusal, type Context } from "./context.ts";
import { ProcessError, runProcess } from "./process.ts";
import { awaitLeftOver, runWhole, type WholeOptions } from "./whole-process.ts";

const Argv = z.array(z.string().min(1)).min(1);

export const MachineSpec = z.strictObject({
  exec: Argv,
  installKubeadm: z.array(Argv),
  installKubelet: z.array(Argv),
  timeoutSeconds: z.number().positive(),
});
export type MachineSpec = z.output<typeof MachineSpec>;

export class Machine {
  readonly #context: Context;
  readonly #spec: MachineSpec;
  readonly #fill: Readonly<Record<string, string>>;
  readonly node: string;
  /** What was run, with exit status: for the evidence. */
  readonly ran: { readonly argv: readonly string[]; readonly code: number; readonly seconds: number }[] = [];

  /** @param version target, e.g. `v1.35.4` */
  constructor(context: Context, spec: MachineSpec, node: string, version: string) {
    this.#context = context;
    this.#spec = spec;
    this.node = node;
    const bare = version.replace(/^v/, "");
    this.#fill = {
      node,
      version: `v${bare}`,
      // The package's version is the upstream one: a vendor's or build's mark is no part of it.
      package: bare.replace(/[-+].*$/, ""),
    };
  }

  /** For commands that only read: ended at once when the program is asked to stop. Returns their standard output. */
  async read(argv: readonly string[]): Promise<string> {
    return await this.#run(argv, async (command) => {
      const { code, stdout, stderr } = await runProcess(this.#reach(command), {
        signal: this.#context.signal,
        timeoutSeconds: this.#spec.timeoutSeconds,
      });
      return { code, output: code === 0 ? stdout : `${stdout}\n${stderr}`.trim() };
    });
  }

  /** Waits for what an earlier run left at work on this machine. */
  async settle(): Promise<void> {
    await awaitLeftOver(await this.#options());
  }

  /** For commands that change the machine: never cut short but by their time limit. */
  async run(argv: readonly string[]): Promise<void> {
    const options = await this.#options();
    await this.#run(argv, async (command) => await runWhole(this.#reach(command), options));
  }

  async #options(): Promise<WholeOptions> {
    return {
      log: await this.#context.path("evidence", this.#context.document.stage, `machine-${this.node}.log`),
      timeoutSeconds: this.#spec.timeoutSeconds,
      signal: this.#context.signal,
      line: (line) => {
        this.#context.progress(`${this.node}| ${line}`);
      },
    };
  }

  /** Throws Refusal with the command, its exit status and what it said. */
  async #run(
    argv: readonly string[],
    start: (command: readonly string[]) => Promise<{ readonly code: number; readonly output: string }>,
  ): Promise<string> {
    const command = argv.map((part) => this.#filled(part));
    const started = performance.now();
    this.#context.progress(`${this.node}$ ${command.join(" ")}`);
    const { code, output } = await start(command).catch((error: unknown) => {
      if (error instanceof ProcessError) throw this.#refusal(command, error.message);
      throw error;
    });
    this.ran.push({ argv: command, code, seconds: Math.round((performance.now() - started) / 100) / 10 });
    if (code === 0) return output;
    throw this.#refusal(command, `exit status ${code}: ${output === "" ? "no output" : output}`);
  }

  #reach(command: readonly string[]): string[] {
    return [...this.#spec.exec.map((part) => this.#filled(part)), ...command];
  }

  async runAll(commands: readonly (readonly string[])[]): Promise<void> {
    for (const argv of commands) await this.run(argv);
  }

  /**
   * Installs kubeadm of the target and proves that it is it: an older kubeadm cannot upgrade to a newer minor.
   */
  async installKubeadm(): Promise<void> {
    const wanted = this.#filled("{version}");
    const installed = await this.read(["kubeadm", "version", "-o", "short"]).catch((error: unknown) => {
      if (error instanceof Refusal) return "";
      throw error;
    });
    if (installed.trim() !== wanted) await this.runAll(this.#spec.installKubeadm);
    const found = (await this.read(["kubeadm", "version", "-o", "short"])).trim();
    if (found === wanted) return;
    throw this.#refusal(
      ["kubeadm", "version", "-o", "short"],
      `kubeadm is ${found} after its installation, wanted ${wanted}`,
    );
  }

  async installKubelet(): Promise<void> {
    await this.runAll(this.#spec.installKubelet);
  }

  #filled(part: string): string {
    return part.replace(/\{(\w+)\}/g, (whole, name: string) => this.#fill[name] ?? whole);
  }

  #refusal(command: readonly string[], message: string): Refusal {
    return new Refusal(
      `'${command.join(" ")}' failed on ${this.node}`,
      [
        {
          code: "MACHINE-COMMAND",
          severity: "refuse",
          subject: `Node ${this.node}`,
          message,
          rule: "every command on a machine must end with exit status 0 before the next one starts",
          repair: `look at ${this.node}, mend it, then run \`pulumi up\` again: it goes on from here`,
        },
      ],
      { ran: this.ran },
    );
  }
}
