/** What the figures were taken on. Names no host and no path: cores, memory and versions are what matters. */
import { readFile } from "node:fs/promises";
import os from "node:os";
import { pins } from "../toolchain/index.ts";

export interface Machine {
  readonly platform: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  /** Load average over the last minute, before anything was started. */
  readonly loadAtStart: number;
  readonly versions: Readonly<Record<string, string>>;
}

export const load = (): number => os.loadavg()[0] ?? Number.NaN;

export async function describeMachine(): Promise<Machine> {
  const cpus = os.cpus();
  return {
    platform: `${os.platform()} ${os.arch()}`,
    cores: os.availableParallelism(),
    processor: cpus[0]?.model ?? "unknown",
    memoryGiB: Math.round(os.totalmem() / 2 ** 30),
    loadAtStart: load(),
    versions: {
      node: process.versions.node,
      ...Object.fromEntries(pins.map((pin) => [pin.id, pin.version])),
      "@pulumi/pulumi": await packageVersion("@pulumi/pulumi"),
      "@pulumi/kubernetes": await packageVersion("@pulumi/kubernetes"),
      "@kubernetes/client-node": await packageVersion("@kubernetes/client-node"),
    },
  };
}

async function packageVersion(name: string): Promise<string> {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(await readFile(file, "utf8")) as { version: string }).version;
}
