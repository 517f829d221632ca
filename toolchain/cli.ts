/** Command line of the toolchain: see `node toolchain/cli.ts --help`. */
import { access, constants } from "node:fs/promises";
import { cacheOf, lookInCache, sha256Of } from "./cache.ts";
import { ensure, survey } from "./ensure.ts";
import { ToolchainError } from "./errors.ts";
import type { Lookup } from "./find.ts";
import { pinOf, pins } from "./pins.ts";
import type { Pin } from "./pins.ts";

const help = `Finds or builds the programs that the lab runs.

  node toolchain/cli.ts ensure [id…]   find or build these tools; all of them when none is named
  node toolchain/cli.ts list           every tool: version, module, checksums, where it would come from
  node toolchain/cli.ts where <id>     the path of one tool that is there already, without building it
  node toolchain/cli.ts verify         hold every program in the cache against the sha256 taken when it was built
  node toolchain/cli.ts --help         this text

A tool is taken from its variable (see list), else from PATH if its version fits, else from the cache, else it is
built from its pinned Go module. CLUSTER_MIGRATION_CACHE moves the cache (now ${cacheOf(process.env).root}).

Tools: ${pins.map((pin) => pin.id).join(", ")}
`;

const out = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
const progress = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

function asTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function origin(lookup: Lookup | undefined): string {
  if (lookup?.kind === "found") return `${lookup.located.source}: ${lookup.located.path}`;
  return lookup?.kind === "refused" ? `error: ${lookup.problem}` : "to be built";
}

async function runEnsure(ids: readonly string[]): Promise<void> {
  const wanted = ids.length === 0 ? pins : ids.map(pinOf);
  const located = await ensure(
    wanted.map((pin) => pin.id),
    { progress },
  );
  const rows = [...located.values()].map((tool) => [tool.id, tool.version, tool.source, tool.path]);
  out(asTable([["TOOL", "VERSION", "SOURCE", "PATH"], ...rows]));
}

async function runList(): Promise<void> {
  const lookups = await survey(pins, process.env, progress);
  const row = (pin: Pin): string[] => [
    pin.id,
    pin.version,
    `${pin.module}@${pin.moduleVersion}`,
    pin.checksums,
    pin.fits.text,
    pin.variable,
    origin(lookups.get(pin.id)),
  ];
  out(asTable([["TOOL", "PIN", "MODULE", "CHECKSUMS", "FITS", "VARIABLE", "FROM"], ...pins.map(row)]));
}

async function runWhere(id: string): Promise<void> {
  const pin = pinOf(id);
  const lookup = (await survey([pin], process.env, progress)).get(pin.id);
  if (lookup?.kind === "found") {
    out(lookup.located.path);
    return;
  }
  throw new ToolchainError(
    lookup?.kind === "refused"
      ? lookup.problem
      : `${id} is not there yet: run "node toolchain/cli.ts ensure ${id}"`,
  );
}

async function runVerify(): Promise<void> {
  const cache = cacheOf(process.env);
  const problems: string[] = [];
  for (const pin of pins) {
    const state = await lookInCache(cache, pin);
    if (state.kind === "absent") {
      out(`${pin.id}: not in the cache`);
    } else if (state.kind === "damaged") {
      problems.push(`${pin.id}: ${state.reason}`);
    } else {
      await access(state.path, constants.R_OK);
      const seen = await sha256Of(state.path);
      if (seen === state.manifest.sha256) out(`${pin.id}: sha256 ${seen}`);
      else problems.push(`${pin.id}: ${state.path} has sha256 ${seen}, built as ${state.manifest.sha256}`);
    }
  }
  if (problems.length > 0) {
    throw new ToolchainError(
      `${problems.join("\n")}\nRemove the folders named above and run "node toolchain/cli.ts ensure".`,
    );
  }
}

async function main(args: readonly string[]): Promise<void> {
  const [verb, ...rest] = args;
  if (args.some((arg) => arg === "--help" || arg === "-h") || verb === undefined) {
    process.stdout.write(help);
    return;
  }
  const [id] = rest;
  if (verb === "ensure") await runEnsure(rest);
  else if (verb === "list" && id === undefined) await runList();
  else if (verb === "where" && id !== undefined && rest.length === 1) await runWhere(id);
  else if (verb === "verify" && id === undefined) await runVerify();
  else
    throw new ToolchainError(
      `"${args.join(" ")}" is not understood; "node toolchain/cli.ts --help" shows what is`,
    );
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof ToolchainError || error instanceof TypeError)) throw error;
  process.stderr.write(`toolchain: ${error.message}\n`);
  process.exitCode = 1;
}
