/** Plan `upgrade` on a real engine, a real API server and real etcd: every stage, twice, and the ways back. */
import { readFile, rm, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { checkFolder } from "../../commands/check-artefacts.ts";
import type { Bench } from "../../lab/rehearsal/bench.ts";
import { upgradeConfig, UPGRADE_TARGET } from "../../lab/rehearsal/upgrade-config.ts";
import { changes, live, onNode, openBench, outFile, record, said, setFaults } from "./support.ts";

const NODES = ["lab-node-0", "lab-node-1", "lab-node-2"];
/** Each artefact, and a way in which it can be wrong. */
const BREAKS: readonly (readonly [string, (text: string) => string])[] = [
  ["versions.json", (text) => text.replace('"lab-node-1": "v1.34.4"', '"lab-node-1": "v1.33.0"')],
  ["cordon.txt", (text) => text.replace("Ready,SchedulingDisabled", "Ready")],
  ["cordon-note.txt", () => "cordon evicts every pod from the node\n"],
  ["drain.txt", (text) => text.replace("node/lab-node-1 drained\n", "")],
  ["after-drain.txt", (text) => text.replaceAll("lab-node-2", "lab-node-1")],
  ["uncordon.txt", (text) => text.replace("node/lab-node-1 uncordoned", "node/lab-node-1 cordoned")],
  ["skew.yaml", (text) => text.replace('max_kubectl: "1.35"', 'max_kubectl: "1.34"')],
  ["runbook.md", (text) => text.replaceAll("kubeadm upgrade plan", "kubeadm upgrade apply")],
  ["rollout.json", (text) => text.replace('"lab-node-2"', '"lab-node-1"')],
];

let bench: Bench;
const read = (name: string): Promise<string> => readFile(outFile(bench, name), "utf8");
const lines = async (name: string): Promise<string[]> => (await read(name)).trim().split("\n");

beforeAll(async () => {
  bench = await openBench("upgrade");
  await bench.configure(upgradeConfig(bench));
});
afterAll(async () => {
  await bench.close();
});

/** Previews, applies and previews again: the second time nothing may change. */
async function enter(stage: string): Promise<string> {
  const preview = await bench.preview(stage);
  expect(preview.code, said(preview)).toBe(0);
  const up = await bench.up(stage);
  expect(up.code, said(up)).toBe(0);
  const again = await bench.up(stage);
  expect(again.code, said(again)).toBe(0);
  expect(changes(again), said(again)).toEqual([]);
  expect((await bench.engine.outputs())["stage"]).toBe(stage);
  expect((await record(bench))?.stage).toBe(stage);
  return preview.stdout;
}

async function webPods(): Promise<{ node: string | null; ready: boolean }[]> {
  const { pods } = await live(bench);
  return pods
    .filter((pod) => pod.namespace === "ops-upgrade" && !pod.terminating)
    .map((pod) => ({ node: pod.nodeName, ready: pod.ready }));
}

async function unschedulable(): Promise<string[]> {
  return (await live(bench)).nodes.filter((node) => node.unschedulable).map((node) => node.name);
}

async function kubelets(): Promise<Record<string, string>> {
  return Object.fromEntries((await live(bench)).nodes.map((node) => [node.name, node.kubeletVersion]));
}

describe("plan upgrade, stage by stage", () => {
  it("refuses at preview to begin anywhere but at the first stage, and says what may come", async () => {
    const result = await bench.preview("canary");
    expect(result.code).not.toBe(0);
    expect(result.stdout).toContain("the stack is new");
    expect(result.stdout).toContain("pulumi config set stage inventory");
    expect(await record(bench)).toBeNull();
  });

  it("inventory: versions.json holds the versions of the live cluster", async () => {
    await enter("inventory");
    const { server, nodes } = JSON.parse(await read("versions.json")) as {
      server: string;
      nodes: Record<string, string>;
    };
    expect(server).toBe((await live(bench)).cluster.serverVersion);
    expect(server).toMatch(/^v1\.\d+\.\d+$/);
    expect(nodes).toEqual(await kubelets());
    expect(Object.keys(nodes)).toEqual(NODES);
  });

  it("budget: three Ready replicas of web, and a budget that keeps two", async () => {
    await enter("budget");
    const { budgets, workloads } = await live(bench);
    expect(workloads).toContainEqual(
      expect.objectContaining({
        kind: "Deployment",
        namespace: "ops-upgrade",
        name: "web",
        replicas: 3,
        readyReplicas: 3,
        podLabels: { app: "web" },
      }),
    );
    expect(budgets).toEqual([
      expect.objectContaining({
        namespace: "ops-upgrade",
        name: "web-pdb",
        minAvailable: 2,
        maxUnavailable: null,
        selector: { matchLabels: { app: "web" }, matchExpressions: [] },
      }),
    ]);
  });

  it("cordon: lab-node-1 alone is closed, and the list and the note say so", async () => {
    await enter("cordon");
    expect(await unschedulable()).toEqual(["lab-node-1"]);
    const table = await lines("cordon.txt");
    expect(table.filter((line) => line.includes("SchedulingDisabled"))).toEqual([
      expect.stringContaining("lab-node-1"),
    ]);
    expect(table.find((line) => line.startsWith("lab-node-0"))).not.toContain("SchedulingDisabled");
    expect(await lines("cordon-note.txt")).toHaveLength(1);
  });

  it("drain: told beforehand, then every pod is elsewhere", async () => {
    const told = await enter("drain");
    expect(told).toMatch(/drain of 1 node, 1 eviction/);
    expect(told).toContain("1. lab-node-1: 1 pod");
    expect(told).toContain("side effects that no diff shows");
    const output = await read("drain.txt");
    expect(output).toMatch(
      /^node\/lab-node-1 cordoned\nevicting pod ops-upgrade\/web-.*\npod\/web-.* evicted\nnode\/lab-node-1 drained\n$/,
    );
    const after = await lines("after-drain.txt");
    expect(after.length).toBeGreaterThanOrEqual(3);
    expect(after.join("\n")).not.toContain("lab-node-1");
    expect(after.join("\n")).toMatch(/lab-node-[02]/);
    expect((await webPods()).filter((pod) => pod.node === "lab-node-1")).toEqual([]);
  });

  it("uncordon: all nodes are schedulable, three replicas are Ready", async () => {
    await enter("uncordon");
    expect(await unschedulable()).toEqual([]);
    expect((await webPods()).filter((pod) => pod.ready)).toHaveLength(3);
    expect(await read("uncordon.txt")).toContain("node/lab-node-1 uncordoned");
  });

  it("goes back two stages and brings back what they had changed", async () => {
    const preview = await bench.preview("cordon");
    expect(preview.code, said(preview)).toBe(0);
    expect(preview.stdout).toContain("Goes back to stage 'cordon'");
    const up = await bench.up("cordon");
    expect(up.code, said(up)).toBe(0);
    expect(await unschedulable()).toEqual(["lab-node-1"]);
    const again = await bench.preview("cordon");
    expect(changes(again), said(again)).toEqual([]);
    const toBudget = await bench.up("budget");
    expect(toBudget.code, said(toBudget)).toBe(0);
    expect(await unschedulable()).toEqual([]);
    const toInventory = await bench.up("inventory");
    expect(toInventory.code, said(toInventory)).toBe(0);
    expect((await live(bench)).workloads.filter((one) => one.namespace === "ops-upgrade")).toEqual([]);
    for (const stage of ["budget", "cordon", "drain", "uncordon"]) {
      const forward = await bench.up(stage);
      expect(forward.code, said(forward)).toBe(0);
    }
  });

  it("plan: skew answers, runbook, rollout, and the labels on the nodes", async () => {
    await enter("plan");
    expect(parseYaml(await read("skew.yaml"))).toEqual({
      apiserver: "1.34",
      answers: {
        min_kubelet: "1.31",
        max_kubelet: "1.34",
        max_kubectl: "1.35",
        min_kubectl: "1.33",
        max_controller_manager: "1.34",
        next_upgrade_target: "1.35",
        downgrade_supported: "no",
      },
    });
    const runbook = await lines("runbook.md");
    const first = (pattern: RegExp): number => runbook.findIndex((line) => pattern.test(line));
    const order = [
      /etcd.*snapshot/i,
      /kubeadm upgrade plan/,
      /kubeadm upgrade apply/,
      /kubeadm upgrade node/,
      /drain/,
      /uncordon/,
    ].map(first);
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(new Set(order).size).toBe(order.length);
    expect(order[0]).toBeGreaterThanOrEqual(0);
    expect((await read("runbook.md")).length).toBeGreaterThan(500);
    expect(await read("runbook.md")).toMatch(/one at a time/);
    const rollout = JSON.parse(await read("rollout.json")) as {
      stages: unknown;
      verify_between_stages: unknown[];
    };
    expect(rollout.stages).toEqual([
      { stage: "canary", nodes: ["lab-node-0"] },
      { stage: "batch1", nodes: ["lab-node-1"] },
      { stage: "batch2", nodes: ["lab-node-2"] },
    ]);
    expect(rollout.verify_between_stages.length).toBeGreaterThan(0);
    const labels = (await live(bench)).nodes.map((node) => node.labels["upgrade.labhub.io/stage"]);
    expect(labels).toEqual(["canary", "batch1", "batch2"]);
  });

  it("going back from plan takes the labels away, and nothing else of the nodes", async () => {
    const up = await bench.up("uncordon");
    expect(up.code, said(up)).toBe(0);
    const { nodes } = await live(bench);
    expect(nodes.map((node) => node.labels["upgrade.labhub.io/stage"])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(nodes[0]?.labels).toHaveProperty("node-role.kubernetes.io/control-plane");
    const forward = await bench.up("plan");
    expect(forward.code, said(forward)).toBe(0);
  });

  it("the artefacts pass their check, and each one broken by hand fails it with a reason", async () => {
    expect(await checkFolder(bench.options.out)).toEqual([]);
    for (const [name, breakIt] of BREAKS) {
      const whole = await read(name);
      await writeFile(outFile(bench, name), breakIt(whole));
      const findings = await checkFolder(bench.options.out);
      await writeFile(outFile(bench, name), whole);
      expect(findings.map((finding) => finding.subject.split(" ")[0])).toContain(name);
      // Not only "it changed": the check says what is wrong with it.
      expect(findings.length, name).toBeGreaterThan(1);
    }
    await rm(outFile(bench, "rollout.json"));
    expect(await checkFolder(bench.options.out)).toContainEqual(
      expect.objectContaining({ subject: "rollout.json", message: "is not there" }),
    );
    const up = await bench.up("uncordon");
    expect(up.code, said(up)).toBe(0);
    const forward = await bench.up("plan");
    expect(forward.code, said(forward)).toBe(0);
    expect(await checkFolder(bench.options.out)).toEqual([]);
  });

  it("snapshot: taken, verified, restored once", async () => {
    await enter("snapshot");
    const { evidence } = (await bench.engine.outputs()) as { evidence: Record<string, string> };
    const file = evidence["snapshot-snapshot"]?.split(" ")[0] ?? "";
    const body = JSON.parse(await readFile(file, "utf8")) as {
      seen: { facts: { snapshot: Record<string, unknown> } };
    };
    expect(body.seen.facts.snapshot).toMatchObject({ restored: true });
    expect(body.seen.facts.snapshot["totalKeys"]).toBeGreaterThan(100);
  });

  it("control-plane: the API server goes to the next minor, kubelets stay, and there is no way back", async () => {
    const told = await enter("control-plane");
    expect(told).toContain("CANNOT BE UNDONE");
    expect((await live(bench)).cluster.serverVersion).toBe(UPGRADE_TARGET);
    expect(new Set(Object.values(await kubelets()))).toEqual(new Set(["v1.34.4"]));
    for (const stage of ["snapshot", "plan", "inventory"]) {
      const back = await bench.preview(stage);
      expect(back.code).not.toBe(0);
      expect(back.stdout).toContain("cannot be undone");
    }
  });

  it("a node that does not come back stops the rollout: no further node is touched, and `up` goes on from there", async () => {
    await setFaults(bench, [
      { node: "lab-node-0", command: "^systemctl restart kubelet", action: "kubelet-down", times: 1 },
    ]);
    const impatient = { successes: 3, intervalSeconds: 0.5, timeoutSeconds: 15 };
    await bench.configure(upgradeConfig(bench, { verify: impatient }));
    const failed = await bench.up("canary");
    expect(failed.code).not.toBe(0);
    expect(failed.stdout).toContain("lab-node-0 did not come back");
    expect((await bench.engine.outputs())["stage"]).toBe("control-plane");
    expect(await unschedulable()).toEqual(["lab-node-0"]);
    expect(await kubelets()).toMatchObject({ "lab-node-1": "v1.34.4", "lab-node-2": "v1.34.4" });
    for (const [stage, why] of [
      ["batch1", "has begun 'canary' and not finished it"],
      ["plan", "cannot be undone"],
    ] as const) {
      const refused = await bench.preview(stage);
      expect(refused.code).not.toBe(0);
      expect(refused.stdout).toContain(why);
    }
    // The machine is mended; the same `up` goes on.
    await bench.configure(upgradeConfig(bench));
    await onNode(bench, "lab-node-0", ["systemctl", "restart", "kubelet"]);
    await expect
      .poll(async () => (await live(bench)).nodes.every((node) => node.ready), { timeout: 60_000 })
      .toBe(true);
    const resumed = await bench.preview("canary");
    expect(resumed.stdout).toContain("Goes on with stage 'canary'");
  });

  it("kill -9 of pulumi in the middle of a node's upgrade, the documented recovery, and the same end", async () => {
    await enter("canary");
    // Nobody cuts an installation short; this one never ends by itself, so its time limit has to.
    const machine = { exec: bench.onNode, timeoutSeconds: 20 };
    await bench.configure(upgradeConfig(bench, { machine }));
    await setFaults(bench, [{ node: "lab-node-1", command: "^apt-get install -y kubelet", action: "hang" }]);
    const run = await bench.startUp("batch1");
    await expect
      .poll(() => run.output(), { timeout: 90_000, interval: 200 })
      .toContain("lab-node-1$ apt-get install -y kubelet");
    run.kill("SIGKILL");
    await run.result;
    await setFaults(bench, []);
    const cancelled = await bench.engine.cancel();
    expect(cancelled.code, said(cancelled)).toBe(0);
    const again = await bench.up("batch1");
    expect(again.code, said(again)).toBe(0);
    expect((await kubelets())["lab-node-1"]).toBe(UPGRADE_TARGET);
    expect(await unschedulable()).toEqual([]);
  });

  it("the last batch ends the rollout: every node upgraded, schedulable, and the service whole", async () => {
    await enter("batch2");
    expect(new Set(Object.values(await kubelets()))).toEqual(new Set([UPGRADE_TARGET]));
    expect(await unschedulable()).toEqual([]);
    expect((await webPods()).filter((pod) => pod.ready)).toHaveLength(3);
  });

  it("the stack can be destroyed at the end, and takes with it what it made and nothing else", async () => {
    const destroyed = await bench.engine.destroy();
    expect(destroyed.code, said(destroyed)).toBe(0);
    expect(await record(bench)).toBeNull();
    const { nodes, workloads } = await live(bench);
    expect(workloads.filter((one) => one.namespace === "ops-upgrade")).toEqual([]);
    expect(nodes.map((node) => node.labels["upgrade.labhub.io/stage"])).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(new Set(Object.values(await kubelets()))).toEqual(new Set([UPGRADE_TARGET]));
  });
});
