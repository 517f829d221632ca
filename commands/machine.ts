/** Runs commands on a node's machine, by the config's `exec` prefix (ssh, a session manager, a lab's stand-in). */
import { z } from "zod";
import { Refusal, type Context } from "./context.ts";
import { ProcessError, runProcess } from "./process.ts";

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

  /** Standard output. Throws Refusal with the command, its exit status and what it said. */
  async run(argv: readonly string[]): Promise<string> {
    const command = argv.map((part) => this.#filled(part));
    const started = performance.now();
    this.#context.progress(`${this.node}$ ${command.join(" ")}`);
    const result = await runProcess([...this.#spec.exec.map((part) => this.#filled(part)), ...command], {
      signal: this.#context.signal,
      timeoutSeconds: this.#spec.timeoutSeconds,
      line: (line) => {
        this.#context.progress(`${this.node}| ${line}`);
      },
    }).catch((error: unknown) => {
      if (error instanceof ProcessError) throw this.#refusal(command, error.message);
      throw error;
    });
    this.ran.push({
      argv: command,
      code: result.code,
      seconds: Math.round((performance.now() - started) / 100) / 10,
    });
    if (result.code !== 0) {
      const said = [result.stderr, result.stdout].filter((text) => text !== "").join("\n");
      throw this.#refusal(command, `exit status ${result.code}: ${said === "" ? "no output" : said}`);
    }
    return result.stdout;
  }

  async runAll(commands: readonly (readonly string[])[]): Promise<void> {
    for (const argv of commands) await this.run(argv);
  }

  /**
   * Installs kubeadm of the target and proves that it is it: an older kubeadm cannot upgrade to a newer minor.
   */
  async installKubeadm(): Promise<void> {
    const wanted = this.#filled("{version}");
    const installed = await this.run(["kubeadm", "version", "-o", "short"]).catch((error: unknown) => {
      if (error instanceof Refusal) return "";
      throw error;
    });
    if (installed.trim() !== wanted) await this.runAll(this.#spec.installKubeadm);
    const found = (await this.run(["kubeadm", "version", "-o", "short"])).trim();
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
