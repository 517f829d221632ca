import { parseArgs } from "node:util";
import {
  formatStatus,
  LabError,
  loadLab,
  parseLabConfig,
  readLabConfig,
  startLab,
  stopLab,
} from "./cluster/index.ts";

const HELP = `lab: a real Kubernetes control plane on loopback, all state under one folder

usage
  node lab/cli.ts up     --dir DIR [--config FILE]   start a lab and wait until it is ready
  node lab/cli.ts status --dir DIR [--json]          each process, the API, each node
  node lab/cli.ts down   --dir DIR [--keep]          end the lab and delete the folder

options
  --dir DIR       the lab's folder; made by \`up\`, deleted by \`down\`
  --config FILE   JSON or YAML; every key has a default (three nodes, Kubernetes 1.34). lab/README.md lists the keys
  --json          print the status as JSON
  --keep          keep the folder's logs
  --help          this text

exit codes
  0  done; for status: every process alive and healthy
  1  it failed, or, for status, something is dead or unhealthy
  2  the command line or the configuration is wrong
  130 interrupted: what had been started was stopped

after \`up\`
  export KUBECONFIG=DIR/kubeconfig.yaml
  lab/bin/on-node --lab DIR lab-node-0 -- kubeadm upgrade plan
`;

class UsageError extends Error {}

interface Command {
  readonly verb: string;
  readonly dir: string;
  readonly config: string | undefined;
  readonly json: boolean;
  readonly keep: boolean;
}

function parseCommand(args: readonly string[]): Command | undefined {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        dir: { type: "string" },
        config: { type: "string" },
        json: { type: "boolean", default: false },
        keep: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  const { values, positionals } = parsed;
  const [verb, ...rest] = positionals;
  if (values.help) return undefined;
  if (verb === undefined || !["up", "down", "status"].includes(verb)) {
    throw new UsageError(
      `${verb === undefined ? "no command" : `no such command: ${verb}`}; it is up, down or status`,
    );
  }
  if (rest.length > 0) throw new UsageError(`${verb} takes no ${rest.join(" ")}`);
  if (values.dir === undefined || values.dir === "")
    throw new UsageError("--dir DIR is missing: the lab's folder");
  if (values.config !== undefined && verb !== "up")
    throw new UsageError(`--config is an option of up, not of ${verb}`);
  if (values.json && verb !== "status") throw new UsageError(`--json is an option of status, not of ${verb}`);
  if (values.keep && verb !== "down") throw new UsageError(`--keep is an option of down, not of ${verb}`);
  return { verb, dir: values.dir, config: values.config, json: values.json, keep: values.keep };
}

async function up(command: Command): Promise<number> {
  let config;
  try {
    config = command.config === undefined ? parseLabConfig({}) : await readLabConfig(command.config);
  } catch (error) {
    if (!(error instanceof LabError)) throw error;
    throw new UsageError(error.message);
  }
  const interrupt = new AbortController();
  const stop = (): void => {
    interrupt.abort(new LabError("interrupted"));
  };
  process.on("SIGINT", stop).once("SIGTERM", stop).once("SIGHUP", stop);
  try {
    const lab = await startLab(config, {
      dir: command.dir,
      signal: interrupt.signal,
      progress: (line) => process.stderr.write(`${line}\n`),
    });
    process.stdout.write(formatStatus(await lab.status()));
    process.stdout.write(`export KUBECONFIG=${lab.kubeconfig}\n`);
    return 0;
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
    process.stderr.write("interrupted; nothing of the lab runs\n");
    return 130;
  }
}

async function status(command: Command): Promise<number> {
  const found = await (await loadLab(command.dir)).status();
  process.stdout.write(command.json ? `${JSON.stringify(found, undefined, 2)}\n` : formatStatus(found));
  return found.healthy ? 0 : 1;
}

async function down(command: Command): Promise<number> {
  const { found, stopped } = await stopLab(command.dir, { keepLogs: command.keep });
  if (!found) process.stderr.write(`no lab in ${command.dir}; nothing to do\n`);
  else
    process.stderr.write(
      `lab in ${command.dir} ended (${stopped.length > 0 ? stopped.join(", ") : "nothing ran"})\n`,
    );
  return 0;
}

async function main(args: readonly string[]): Promise<number> {
  try {
    const command = parseCommand(args);
    if (!command) {
      process.stdout.write(HELP);
      return 0;
    }
    switch (command.verb) {
      case "up":
        return await up(command);
      case "status":
        return await status(command);
      default:
        return await down(command);
    }
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`lab: ${error.message}\nsee \`node lab/cli.ts --help\`\n`);
      return 2;
    }
    // A LabError is written for the reader; anything else is a fault of the lab, and its stack is wanted.
    const text =
      error instanceof LabError ? error.message : error instanceof Error ? error.stack : String(error);
    process.stderr.write(`lab: ${text ?? "unknown error"}\n`);
    return 1;
  }
}

// Exits by itself although a process that was aborted half-way (a build) may still hold the event loop.
process.exit(await main(process.argv.slice(2)));
