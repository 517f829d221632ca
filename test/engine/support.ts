/** A bench for engine tests: lab, engine and stack of their own, ended with the test file. */
import { execFile as execFileByCallback } from "node:child_process";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import type { Inventory } from "../../analysis/inventory.ts";
import { openCluster } from "../../cluster/connect.ts";
import { readInventory } from "../../cluster/inventory.ts";
import type { StageRecord } from "../../analysis/stage-record.ts";
import { readRecord } from "../../cluster/record.ts";
import type { LabConfigInput } from "../../lab/cluster/index.ts";
import { operations, type EngineResult } from "../../lab/engine/index.ts";
import type { FaultInput } from "../../lab/machine/faults.ts";
import { Bench } from "../../lab/rehearsal/bench.ts";

const execFile = promisify(execFileByCallback);

export const PROJECT = path.resolve(import.meta.dirname, "../..");

export async function openBench(name: string, lab: Omit<LabConfigInput, "name"> = {}): Promise<Bench> {
  const dir = path.join(".lab", `test-${name}-${process.pid}`);
  return await Bench.open({
    project: PROJECT,
    dir,
    out: path.join(dir, "out"),
    stack: "lab",
    lab: { name: `test-${name}`, ...lab },
    policyPacks: ["policies"],
    progress: () => undefined,
  });
}

/** Everything that was printed, for assertions and for the message of a failure. */
export const said = (result: EngineResult): string => `${result.command}\n${result.stdout}\n${result.stderr}`;

/** Names of resources that an update changes, reads and sames left out. */
export function changes(result: EngineResult): string[] {
  return [...operations(result.events)]
    .filter(([, ops]) => ops.some((op) => op !== "same" && op !== "read"))
    .map(([name]) => name);
}

export async function live(bench: Bench): Promise<Inventory> {
  return await readInventory(openCluster(bench.lab));
}

export async function record(bench: Bench): Promise<StageRecord | null> {
  return await readRecord(openCluster(bench.lab));
}

export const outFile = (bench: Bench, name: string): string => path.join(PROJECT, bench.options.out, name);

/** What the lab's machines do wrong from now on; an empty list: nothing. */
export async function setFaults(bench: Bench, faults: readonly FaultInput[]): Promise<void> {
  await writeFile(path.join(bench.lab.dir, "faults.json"), JSON.stringify(faults));
}

/** What a person does on a machine by hand. */
export async function onNode(bench: Bench, node: string, argv: readonly string[]): Promise<void> {
  await execFile(path.join(PROJECT, "lab/bin/on-node"), ["--lab", bench.lab.dir, node, "--", ...argv]);
}
