/** The drain stage when things go wrong: a budget in the way, and kill -9 in the middle. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { uncordon } from "../../cluster/actions.ts";
import { openCluster } from "../../cluster/connect.ts";
import type { Entry } from "../../commands/drain/journal.ts";
import type { Bench } from "../../lab/rehearsal/bench.ts";
import { upgradeConfig } from "../../lab/rehearsal/upgrade-config.ts";
import { changes, live, openBench, outFile, said } from "./support.ts";

let bench: Bench;

beforeAll(async () => {
  bench = await openBench("drain", { podReadySeconds: [2, 3] });
  // One pod at a time may go, and each takes seconds: a drain long enough to be killed in the middle.
  await bench.configure(
    upgradeConfig(bench, {
      drill: { node: "lab-node-1", replicas: 12, minAvailable: 11 },
      drain: { readySeconds: 3, timeoutSeconds: 120 },
    }),
  );
  for (const stage of ["inventory", "budget"]) {
    const up = await bench.up(stage);
    expect(up.code, said(up)).toBe(0);
  }
  await makeBlocker();
  const up = await bench.up("cordon");
  expect(up.code, said(up)).toBe(0);
});
afterAll(async () => {
  await bench.close();
});

/** One replica on lab-node-1 with a budget of one: the commonest reason why a drain never ends. */
async function makeBlocker(): Promise<void> {
  const api = openCluster(bench.lab);
  const meta = { name: "billing-api", namespace: "default" };
  const labels = { app: "billing-api" };
  await api.request("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
    method: "POST",
    body: {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata: meta,
      spec: { minAvailable: 1, selector: { matchLabels: labels } },
    },
  });
  await api.request("/apis/apps/v1/namespaces/default/deployments", {
    method: "POST",
    body: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: meta,
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            nodeSelector: { "kubernetes.io/hostname": "lab-node-1" },
            containers: [{ name: "main", image: "example/billing:1" }],
          },
        },
      },
    },
  });
  await vi.waitFor(
    async () => {
      const budget = (await live(bench)).budgets.find((one) => one.name === "billing-api");
      expect(budget?.status?.currentHealthy).toBe(1);
    },
    { timeout: 30_000, interval: 200 },
  );
}

async function onNode1(): Promise<string[]> {
  const { pods } = await live(bench);
  return pods
    .filter((pod) => pod.nodeName === "lab-node-1" && pod.namespace === "ops-upgrade")
    .map((pod) => pod.uid);
}

describe("drain", () => {
  it("is refused at preview while a budget forbids it for good: workload and repairs are named, nothing is changed", async () => {
    const before = await onNode1();
    for (const result of [await bench.preview("drain"), await bench.up("drain")]) {
      expect(result.code).not.toBe(0);
      expect(result.stdout).toContain("PodDisruptionBudget default/billing-api");
      expect(result.stdout).toContain("Deployment");
      expect(result.stdout).toMatch(/replicas of Deployment billing-api to 2/);
      expect(result.stdout).toContain("maxUnavailable: 1");
    }
    expect(await onNode1()).toEqual(before);
    const api = openCluster(bench.lab);
    await api.request(
      "/apis/apps/v1/namespaces/default/deployments/billing-api?propagationPolicy=Background",
      { method: "DELETE" },
    );
    await api.request("/apis/policy/v1/namespaces/default/poddisruptionbudgets/billing-api", {
      method: "DELETE",
    });
    await expect
      .poll(async () => (await live(bench)).pods.filter((pod) => pod.namespace === "default"), {
        timeout: 30_000,
      })
      .toEqual([]);
  });

  it("does not let the stack be destroyed between two stages", async () => {
    const before = await onNode1();
    // As people run it: with the preview, which fails before anything is deleted.
    const { stack, configFile = "" } = bench.engine.options;
    const destroyed = await bench.engine.run([
      "destroy",
      "--yes",
      "--stack",
      stack,
      "--config-file",
      configFile,
    ]);
    expect(destroyed.code).not.toBe(0);
    expect(said(destroyed)).toContain("protect");
    expect(await onNode1()).toEqual(before);
    const preview = await bench.preview("cordon");
    expect(changes(preview), said(preview)).toEqual([]);
  });

  it("killed with -9 in the middle, then recovered as documented: same end, each pod evicted once", async () => {
    const before = await onNode1();
    expect(before.length).toBeGreaterThan(2);
    const run = await bench.startUp("drain");
    await expect.poll(() => run.output(), { timeout: 60_000, interval: 50 }).toMatch(/pod\/.* evicted/);
    run.kill("SIGKILL");
    await run.result;
    const left = await onNode1();
    expect(left.length, "it was killed in the middle").toBeGreaterThan(0);

    const locked = await bench.up("drain");
    expect(locked.code).not.toBe(0);
    expect(locked.stdout + locked.stderr).toContain("pulumi cancel");
    const cancelled = await bench.engine.cancel();
    expect(cancelled.code, said(cancelled)).toBe(0);
    const again = await bench.up("drain");
    expect(again.code, said(again)).toBe(0);

    expect(await onNode1()).toEqual([]);
    const [journal] = await journals();
    const gone = (journal ?? []).filter((entry) => entry.event === "gone").map((entry) => entry.uid);
    expect([...gone].sort()).toEqual([...before].sort());
    expect(await acceptedEvictions()).toBe(before.length);
    const output = await readFile(outFile(bench, "drain.txt"), "utf8");
    expect(output.match(/^evicting pod /gm)).toHaveLength(before.length);
    expect(output.match(/^pod\/.* evicted$/gm)).toHaveLength(before.length);
  });

  it("a setting that is changed at rest makes nothing run again", async () => {
    await bench.configure(
      upgradeConfig(bench, {
        drill: { node: "lab-node-1", replicas: 12, minAvailable: 11 },
        drain: { readySeconds: 4, timeoutSeconds: 121 },
      }),
    );
    const before = await acceptedEvictions();
    const api = openCluster(bench.lab);
    await uncordon(api, "lab-node-1");
    for (const result of [await bench.preview("drain"), await bench.up("drain")]) {
      expect(result.code, said(result)).toBe(0);
      expect(changes(result), said(result)).toEqual([]);
    }
    expect((await live(bench)).nodes.find((node) => node.name === "lab-node-1")?.unschedulable).toBe(false);
    expect(await acceptedEvictions()).toBe(before);
  });

  it("went at the pace of the budget: never more than one of the twelve away", async () => {
    const [journal] = await journals();
    const states = (journal ?? [])
      .filter((entry) => entry.event === "asked")
      .flatMap((entry) => entry.budgets);
    expect(states.length).toBeGreaterThan(0);
    for (const state of states) expect(state).toMatch(/web-pdb: 1 allowed, 12 healthy, 11 wanted/);
  });
});

async function journals(): Promise<Entry[][]> {
  const { glob } = await import("node:fs/promises");
  const found: Entry[][] = [];
  for await (const file of glob(path.join(outFile(bench, "evidence"), "drain", "evictions-*.jsonl"))) {
    const text = await readFile(file, "utf8");
    found.push(
      text
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Entry),
    );
  }
  return found;
}

/** What the API server's own audit log says: evictions of the drilled namespace that it accepted. */
async function acceptedEvictions(): Promise<number> {
  const text = await readFile(path.join(bench.lab.dir, "logs", "audit.log"), "utf8");
  return text
    .trim()
    .split("\n")
    .map(
      (line) =>
        JSON.parse(line) as {
          stage: string;
          objectRef?: { subresource?: string; namespace?: string };
          responseStatus?: { code: number };
        },
    )
    .filter(
      ({ stage, objectRef, responseStatus }) =>
        stage === "ResponseComplete" &&
        objectRef?.subresource === "eviction" &&
        objectRef.namespace === "ops-upgrade" &&
        responseStatus?.code === 201,
    ).length;
}
