import { releaseOf } from "./repository.ts";
import type { Session } from "./session.ts";
import { PACKAGES, type Package } from "./state.ts";
import { compare, minorOf } from "./versions.ts";

/** apt-get's exit code for every error of its own. */
const FAILED = 100;

function isPackage(name: string): name is Package {
  return (PACKAGES as readonly string[]).includes(name);
}

interface Install {
  readonly name: Package;
  /** As written: `1.35.4-*`, `1.35.4-1.1`. */
  readonly wanted: string;
  /** What the repository has for it: `v1.35.4`. */
  readonly version: string;
}

/** `apt-get update`, `apt-get install -y [--allow-change-held-packages] [--allow-downgrades] NAME=VERSION…` */
export async function aptGet(session: Session, args: readonly string[]): Promise<number> {
  const flags = new Set(args.filter((arg) => arg.startsWith("-")));
  const [verb, ...names] = args.filter((arg) => !arg.startsWith("-"));
  for (const flag of flags) {
    if (!["-y", "--yes", "-q", "-qq", "--allow-change-held-packages", "--allow-downgrades"].includes(flag)) {
      session.err(`E: Command line option ${JSON.stringify(flag)} is not played by this lab's machine`);
      return FAILED;
    }
  }
  if (verb === "update") {
    session.out("Reading package lists... Done");
    return 0;
  }
  if (verb !== "install") {
    session.err(`E: Invalid operation ${verb ?? ""} (this lab's machine plays update and install)`);
    return FAILED;
  }
  if (!flags.has("-y") && !flags.has("--yes")) {
    session.err("E: this lab's machine has no terminal to ask on; give -y");
    return FAILED;
  }
  const installs: Install[] = [];
  for (const name of names) {
    const install = await resolve(session, name);
    if (install === undefined) return FAILED;
    installs.push(install);
  }
  return apply(session, installs, flags);
}

async function resolve(session: Session, argument: string): Promise<Install | undefined> {
  const [name = "", wanted] = argument.split("=", 2);
  if (!isPackage(name)) {
    session.err(`E: Unable to locate package ${name}`);
    return undefined;
  }
  if (wanted === undefined) {
    session.err(`E: this lab's machine installs named versions only; write ${name}=1.x.y-*`);
    return undefined;
  }
  // Debian's package of Kubernetes 1.35.4 is 1.35.4-1.1; the documented way is to write 1.35.4-*.
  const match = /^(\d+\.\d+\.\d+)(-[0-9.]*\*|-1\.1)$/u.exec(wanted);
  const release = match ? await releaseOf(session.layout, minorOf(wanted), session.err) : undefined;
  if (!match || release?.version !== `v${match[1] ?? ""}`) {
    session.err(`E: Version '${wanted}' for '${name}' was not found`);
    if (release) session.err(`N: this lab's repository has ${name} ${release.version.slice(1)}-1.1`);
    return undefined;
  }
  return { name, wanted, version: release.version };
}

async function apply(
  session: Session,
  installs: readonly Install[],
  flags: ReadonlySet<string>,
): Promise<number> {
  const machine = await session.machine();
  const changes = installs.filter(({ name, version }) => machine.packages[name] !== version);
  session.out("Reading package lists...\nBuilding dependency tree...\nReading state information...");
  for (const { name, wanted, version } of installs) {
    session.out(`Selected version '${version.slice(1)}-1.1' (kubernetes:core:stable) for '${name}'`);
    if (machine.packages[name] === version) session.out(`${name} is already the newest version (${wanted}).`);
  }
  const held = changes.filter(({ name }) => machine.held.includes(name)).map(({ name }) => name);
  if (held.length > 0) {
    session.out(`The following held packages will be changed:\n  ${held.join(" ")}`);
    if (!flags.has("--allow-change-held-packages")) {
      session.err("E: Held packages were changed and -y was used without --allow-change-held-packages.");
      return FAILED;
    }
  }
  const lower = changes.filter(({ name, version }) => compare(version, machine.packages[name]) < 0);
  if (lower.length > 0 && !flags.has("--allow-downgrades")) {
    session.out(`The following packages will be DOWNGRADED:\n  ${lower.map(({ name }) => name).join(" ")}`);
    session.err("E: Packages were downgraded and -y was used without --allow-downgrades.");
    return FAILED;
  }
  const packages = { ...machine.packages };
  for (const { name, version } of changes) {
    session.out(`Unpacking ${name} (${version.slice(1)}-1.1) over (${packages[name].slice(1)}-1.1) ...`);
    packages[name] = version;
  }
  await session.save({ ...machine, packages });
  for (const { name, version } of changes) session.out(`Setting up ${name} (${version.slice(1)}-1.1) ...`);
  return 0;
}

/** `apt-mark hold NAME…`, `apt-mark unhold NAME…`, `apt-mark showhold` */
export async function aptMark(session: Session, args: readonly string[]): Promise<number> {
  const [verb, ...names] = args;
  const machine = await session.machine();
  if (verb === "showhold") {
    for (const name of [...machine.held].sort()) session.out(name);
    return 0;
  }
  if (verb !== "hold" && verb !== "unhold") {
    session.err(`E: Invalid operation ${verb ?? ""} (this lab's machine plays hold, unhold and showhold)`);
    return FAILED;
  }
  const held = new Set(machine.held);
  for (const name of names) {
    if (!isPackage(name)) {
      session.err(`E: Unable to locate package ${name}`);
      return FAILED;
    }
    const was = held.has(name);
    if (verb === "hold") {
      session.out(was ? `${name} was already set on hold.` : `${name} set on hold.`);
      held.add(name);
    } else {
      session.out(was ? `Canceled hold on ${name}.` : `${name} was already not on hold.`);
      held.delete(name);
    }
  }
  await session.save({ ...machine, held: [...held].sort() });
  return 0;
}
