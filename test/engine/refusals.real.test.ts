/** Bad input on the real engine: one readable message with every problem, an exit status that is not 0, nothing changed. */
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Bench, StackConfigValues } from "../../lab/rehearsal/bench.ts";
import { upgradeConfig } from "../../lab/rehearsal/upgrade-config.ts";
import { openBench, PROJECT, record } from "./support.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await openBench("refusals");
});
afterAll(async () => {
  await bench.close();
});

interface Case {
  readonly name: string;
  readonly config: () => StackConfigValues | Promise<StackConfigValues>;
  /** All of them have to be in the message. */
  readonly says: readonly string[];
}

const plan = (overrides: StackConfigValues): StackConfigValues => upgradeConfig(bench, overrides);
const cluster = (overrides: StackConfigValues): StackConfigValues => {
  const config = upgradeConfig(bench);
  return { ...config, cluster: { ...(config["cluster"] as StackConfigValues), ...overrides } };
};

const CASES: readonly Case[] = [
  {
    name: "unknown keys, wrong types and an unquoted 1.30, all at once",
    config: () => ({
      ...plan({
        target: 1.3,
        drain: { timeoutSecond: 3 },
        verify: { successes: "3" },
        drill: { node: "lab-node-1", replicas: 2, minAvailable: 2 },
      }),
      stgae: "inventory",
    }),
    says: [
      "5 problems",
      "cluster-migration:stgae",
      "did you mean 'stage'",
      "cluster-migration:upgrade.target",
      "in quotes",
      "cluster-migration:upgrade.drain.timeoutSecond",
      "did you mean 'timeoutSeconds'",
      "cluster-migration:upgrade.verify.successes",
      "cluster-migration:upgrade.drill.minAvailable",
    ],
  },
  {
    name: "a stage that does not exist",
    config: () => ({ ...plan({}), stage: "inventry" }),
    says: ["STAGE-UNKNOWN", "did you mean 'inventory'"],
  },
  {
    name: "a skipped stage",
    config: () => ({ ...plan({}), stage: "snapshot" }),
    says: ["STAGE-SKIPPED", "the stack is new", "next is 'inventory'"],
  },
  {
    name: "a node that does not exist",
    config: () => plan({ drill: { node: "lab-node-11" } }),
    says: ["cluster-migration:upgrade.drill.node", "lab-node-11", "did you mean 'lab-node-1'"],
  },
  {
    name: "a rollout that misses one node and repeats another",
    config: () => plan({ rollout: { canary: "lab-node-0", batches: [["lab-node-1"], ["lab-node-1"]] } }),
    says: ["cluster-migration:upgrade.rollout", "lab-node-1", "lab-node-2"],
  },
  { name: "two minors at once", config: () => plan({ target: "v1.36.3" }), says: ["v1.35", "one minor"] },
  {
    name: "a missing kubeconfig",
    config: () => cluster({ kubeconfig: "no/such/kubeconfig" }),
    says: ["CLUSTER-KUBECONFIG", "no/such/kubeconfig"],
  },
  {
    name: "a wrong context",
    config: () => cluster({ context: "test-refusal" }),
    says: ["CLUSTER-CONTEXT", "did you mean 'test-refusals'"],
  },
  {
    name: "a cluster that does not answer",
    config: async () => {
      const file = path.join(bench.options.dir, "dead.yaml");
      const config = `apiVersion: v1\nkind: Config\nclusters: [{name: dead, cluster: {server: "https://127.0.0.1:9"}}]\ncontexts: [{name: dead, context: {cluster: dead, user: dead}}]\nusers: [{name: dead, user: {token: none}}]\n`;
      await writeFile(path.join(PROJECT, file), config);
      return cluster({ kubeconfig: file, context: "dead" });
    },
    says: ["CLUSTER-UNREACHABLE", "https://127.0.0.1:9", "nothing was changed"],
  },
  {
    name: "a template without the expected keys",
    config: async () => {
      const file = path.join(bench.options.dir, "template.yaml");
      await writeFile(
        path.join(PROJECT, file),
        'apiserver: "1.34"\nanswers:\n  min_kubelet: "?"\n  max_kubelets: "?"\n',
      );
      return plan({ skewTemplate: file });
    },
    says: [
      "cluster-migration:upgrade.skewTemplate",
      "max_kubelets",
      "max_kubelet",
      "min_kubectl",
      "downgrade_supported",
    ],
  },
  {
    name: "a folder for artefacts that cannot be written",
    config: () => ({ ...plan({}), out: "package.json/out" }),
    says: ["OUT-NOT-WRITABLE", "cluster-migration:out", "package.json"],
  },
];

describe("bad input is refused at preview and at up", () => {
  it.each(CASES)("$name", async ({ config, says }) => {
    await bench.configure(await config());
    const preview = await bench.preview();
    expect(preview.code).not.toBe(0);
    for (const part of says) expect(preview.stdout).toContain(part);
    // Readable: the message alone, no stack trace.
    expect(preview.stdout).not.toMatch(/\n\s+at .*\.[tj]s:\d+/);
    expect(preview.stdout).not.toContain("unhandled exception");
    const up = await bench.up();
    expect(up.code).not.toBe(0);
    expect(await record(bench)).toBeNull();
    const { deployment } = await bench.engine.exportState();
    const made = (deployment.resources ?? []).filter(({ type }) => !type.startsWith("pulumi:"));
    expect(made).toEqual([]);
  });
});
