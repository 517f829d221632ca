import { LabError, messageOf } from "../cluster/errors.ts";
import { layoutOf } from "../cluster/layout.ts";
import { requireState } from "../cluster/state.ts";
import { aptGet, aptMark } from "./apt.ts";
import { faultFor } from "./faults.ts";
import { kubeadm } from "./kubeadm.ts";
import { systemctl } from "./kubelet.ts";
import { noteOf, openSession, type Session } from "./session.ts";
import { parseCommands } from "./shell.ts";
import { readMachine } from "./state.ts";

const HELP = `on-node: runs a command on one of a lab's machines, as ssh would on a real node

usage
  lab/bin/on-node --lab DIR NODE -- COMMAND [ARG…]

commands
  kubeadm version [-o short]
  kubeadm upgrade plan [VERSION]
  kubeadm upgrade apply -y VERSION
  kubeadm upgrade node
  kubelet --version
  kubectl version --client
  apt-get update
  apt-get install -y [--allow-change-held-packages] [--allow-downgrades] NAME=VERSION…
  apt-mark hold|unhold NAME…, apt-mark showhold
  systemctl daemon-reload, systemctl start|restart|stop|is-active kubelet

Several can be joined by &&; a leading sudo is dropped. Exit codes are those of the real programs; 127 for a command
that a lab's machine does not play, 255 when there is no such lab or machine (as ssh does). What went on is written
to DIR/logs/machine-NODE.log; faults are injected by DIR/faults.json. See lab/README.md.
`;

const NO_CONNECTION = 255;
const NOT_FOUND = 127;

type Program = (session: Session, args: readonly string[]) => Promise<number>;

const PROGRAMS: Readonly<Record<string, Program>> = {
  kubeadm,
  systemctl,
  "apt-get": aptGet,
  "apt-mark": aptMark,
  kubelet: async (session, args) => {
    if (args.join(" ") !== "--version") {
      session.err(
        "E: this lab's machine plays `kubelet --version` only; the kubelet is started by systemctl",
      );
      return 1;
    }
    session.out(`Kubernetes ${(await session.machine()).packages.kubelet}`);
    return 0;
  },
  kubectl: async (session, args) => {
    if (args.join(" ") !== "version --client") {
      session.err(
        "error: this lab's machine plays `kubectl version --client` only; use the lab's kubeconfig.yaml from outside",
      );
      return 1;
    }
    session.out(`Client Version: ${(await session.machine()).packages.kubectl}`);
    return 0;
  },
};

interface Call {
  readonly dir: string;
  readonly node: string;
  readonly command: readonly string[];
}

function parseCall(args: readonly string[]): Call | undefined {
  const rest = [...args];
  let dir: string | undefined;
  while (rest[0]?.startsWith("-") === true && rest[0] !== "--") {
    const option = rest.shift() ?? "";
    if (option === "--help" || option === "-h") return undefined;
    if (option === "--lab") dir = rest.shift();
    else if (option.startsWith("--lab=")) dir = option.slice("--lab=".length);
    else throw new LabError(`unknown option ${option}; see on-node --help`);
  }
  const node = rest.shift();
  if (rest[0] === "--") rest.shift();
  if (dir === undefined || dir === "" || node === undefined || node === "--" || rest.length === 0) {
    throw new LabError("usage: on-node --lab DIR NODE -- COMMAND [ARG…]; see on-node --help");
  }
  return { dir, node, command: rest };
}

async function runOne(call: Call, words: readonly string[]): Promise<number> {
  const layout = layoutOf(call.dir);
  const line = words.join(" ");
  const fault = await faultFor(layout, call.node, line);
  const session = openSession(layout, call.node, fault);
  await session.note(`$ ${line}${fault ? ` (fault: ${fault.action})` : ""}`);
  if (fault?.action === "hang") {
    await new Promise(() => {
      // Keeps the process alive until whoever started it gives up on it.
      setInterval(() => undefined, 60_000);
    });
  }
  if (fault?.action === "fail") {
    session.err(fault.message);
    await session.note(`exit ${fault.exitCode}`);
    return fault.exitCode;
  }
  const [name = "", ...args] = words;
  const program = Object.hasOwn(PROGRAMS, name) ? PROGRAMS[name] : undefined;
  if (!program) {
    session.err(
      `sh: 1: ${name}: not found (a lab's machine plays ${Object.keys(PROGRAMS).sort().join(", ")})`,
    );
    await session.note(`exit ${NOT_FOUND}`);
    return NOT_FOUND;
  }
  const code = await program(session, args);
  await session.note(`exit ${code}`);
  if (fault?.action === "kill-after") process.kill(process.pid, "SIGKILL");
  return code;
}

async function main(args: readonly string[]): Promise<number> {
  let call: Call | undefined;
  try {
    call = parseCall(args);
    if (!call) {
      process.stdout.write(HELP);
      return 0;
    }
    await requireState(layoutOf(call.dir));
    await readMachine(layoutOf(call.dir), call.node);
  } catch (error) {
    process.stderr.write(`on-node: ${messageOf(error)}\n`);
    return NO_CONNECTION;
  }
  try {
    for (const words of parseCommands(call.command)) {
      const code = await runOne(call, words);
      if (code !== 0) return code;
    }
    return 0;
  } catch (error) {
    const text =
      error instanceof LabError
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error);
    process.stderr.write(`${text}\n`);
    await noteOf(layoutOf(call.dir), call.node, `failed: ${messageOf(error)}`);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
