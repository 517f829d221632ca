/** The Go compiler: which one, and how it is run. */
import { execFile, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { modulesFolder, platform } from "./cache.ts";
import { ToolchainError, ToolchainInterrupted } from "./errors.ts";
import { onPath } from "./find.ts";
import type { Pin } from "./pins.ts";
import { killGroup } from "./process.ts";
import { compareVersions } from "./versions.ts";
import type { Version } from "./versions.ts";

export interface Go {
  readonly path: string;
  /** Such as "1.26.8". */
  readonly version: string;
}

function readGoVersion(text: string): Version | undefined {
  const found = /\bgo(\d+)\.(\d+)(?:\.(\d+))?/.exec(text);
  if (found === null) return undefined;
  return {
    major: Number(found[1]),
    minor: Number(found[2]),
    patch: Number(found[3] ?? 0),
    suffix: undefined,
  };
}

function show(version: Version): string {
  return `${version.major}.${version.minor}.${version.patch}`;
}

/** What the module's go.mod asks for. */
export function goNeededBy(pin: Pin): Version {
  const line = /^go (\S+)$/m.exec(readFileSync(join(modulesFolder, pin.folder, "go.mod"), "utf8"))?.[1];
  const version = line === undefined ? undefined : readGoVersion(`go${line}`);
  if (version === undefined) throw new TypeError(`modules/${pin.folder}/go.mod has no go line`);
  return version;
}

function ask(path: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve) => {
    // At the root no go.mod has a say. GOTOOLCHAIN=local: what is asked is this Go, not one it would download.
    const options = { cwd: "/", env: { ...env, GOTOOLCHAIN: "local" }, timeout: 10_000 };
    execFile(path, ["version"], options, (error, output) => {
      resolve(error === null ? output : "");
    });
  });
}

export type GoLookup =
  | { readonly kind: "go"; readonly go: Go }
  | { readonly kind: "none"; readonly reason: string; readonly install: string };

/** Looks for a Go on PATH that is new enough for all of these. */
export async function findGo(pins: readonly Pin[], env: NodeJS.ProcessEnv): Promise<GoLookup> {
  const needed = pins.map(goNeededBy).sort(compareVersions).at(-1) ?? {
    major: 1,
    minor: 0,
    patch: 0,
    suffix: "",
  };
  const install = `Go ${show(needed)} or later (go.dev/doc/install), with its bin folder on PATH`;
  const passedOver: string[] = [];
  for (const path of onPath("go", env)) {
    const version = readGoVersion(await ask(path, env));
    if (version === undefined) passedOver.push(`${path} does not say its version`);
    else if (compareVersions(version, needed) < 0) passedOver.push(`${path} is Go ${show(version)}`);
    else return { kind: "go", go: { path, version: show(version) } };
  }
  if (passedOver.length === 0) return { kind: "none", reason: "there is no Go on PATH", install };
  return { kind: "none", reason: `the Go on PATH is too old: ${passedOver.join("; ")}`, install };
}

/**
 * Runs its arguments in this process group and kills the group when file descriptor 3 reaches its end, which is
 * when the process that holds the other end is no more, however it ended.
 */
const watched = [
  "(read -r _ <&3; kill -KILL 0) & w=$!",
  '"$@" 3<&-; s=$?',
  "kill -KILL $w 2>/dev/null; exit $s",
].join("\n");

export interface GoRun {
  readonly folder: string;
  /** For go's work folders; removed by the caller. */
  readonly temporary: string;
  readonly env: NodeJS.ProcessEnv;
  /** Both outputs are appended here; standard output is returned instead when `capture` is set. */
  readonly log: string;
  readonly signal: AbortSignal;
  readonly capture?: true;
}

/**
 * @returns standard output if it is captured, else ""
 * @throws ToolchainInterrupted when the signal is aborted; go and what it started have ended by then
 * @throws ToolchainError when go fails
 */
export function runGo(go: Go, args: readonly string[], run: GoRun): Promise<string> {
  if (run.signal.aborted) return Promise.reject(new ToolchainInterrupted("stopped"));
  return new Promise((resolve, reject) => {
    const log = openSync(run.log, "a");
    const child = spawn("/bin/sh", ["-c", watched, "go", go.path, ...args], {
      cwd: run.folder,
      detached: true,
      stdio: ["ignore", run.capture === true ? "pipe" : log, log, "pipe"],
      env: {
        ...run.env,
        GOTOOLCHAIN: "local",
        GOWORK: "off",
        GO111MODULE: "on",
        GOOS: platform.os,
        GOARCH: platform.arch,
        CGO_ENABLED: "0",
        GOTMPDIR: run.temporary,
        // Not empty: then `go env -w GOFLAGS=…` of this user would decide what is built.
        GOFLAGS: "-mod=readonly",
      },
    });
    closeSync(log);
    const kill = (): void => {
      if (child.pid !== undefined) killGroup(child.pid, "SIGKILL");
    };
    // Go removes its work folder on an interrupt; what does not end by itself soon is ended.
    let patience: NodeJS.Timeout | undefined;
    const stop = (): void => {
      if (child.pid !== undefined) killGroup(child.pid, "SIGINT");
      patience = setTimeout(kill, 2_000);
    };
    run.signal.addEventListener("abort", stop, { once: true });
    process.on("exit", kill);
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
    const settle = (): void => {
      clearTimeout(patience);
      run.signal.removeEventListener("abort", stop);
      process.removeListener("exit", kill);
    };
    child.on("error", (error) => {
      settle();
      reject(new ToolchainError(`cannot run ${go.path}: ${error.message}`));
    });
    // The shell may be gone before what it started is; only the group's end counts.
    child.on("exit", kill);
    child.on("close", (code, signal) => {
      settle();
      if (run.signal.aborted) reject(new ToolchainInterrupted("stopped"));
      else if (code === 0) resolve(output);
      else
        reject(new ToolchainError(`go ${args[0] ?? ""} ended with ${signal ?? `exit code ${code ?? "?"}`}`));
    });
  });
}
