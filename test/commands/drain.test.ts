import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { drainNodes, drain } from "../../commands/drain/index.ts";
import { PODS } from "../cluster/fake-cluster.ts";
import { failure, withCertificates } from "../cluster/fake-server.ts";
import { testContext } from "./context.ts";
import { cluster, journal, spec, times } from "./drain-kit.ts";

withCertificates();

describe.concurrent("a drain", () => {
  it("cordons before the first eviction, evicts each pod once, and waits until the last one is gone", async () => {
    const fake = await cluster();
    fake.workload("web", 4, ["old-1"], 3);
    fake.timing = { endMs: 100, readyMs: 20 };
    const report = await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(report.evicted).toBe(4);
    expect(fake.cordoned()).toEqual(["old-1"]);
    expect(times(fake.evicted)).toEqual({ "web-0": 1, "web-1": 1, "web-2": 1, "web-3": 1 });
    const lines = fake.server.lines();
    const firstEviction = lines.findIndex((line) => line.endsWith("/eviction"));
    const patch = lines.findIndex((line) => line === "PATCH /api/v1/nodes/old-1");
    expect(patch).toBeGreaterThan(-1);
    expect(patch).toBeLessThan(firstEviction);
    expect(
      fake
        .all(PODS)
        .filter((pod) => pod.spec !== undefined && "nodeName" in pod.spec && pod.spec.nodeName === "old-1"),
    ).toEqual([]);
  });

  it("prints what kubectl prints", async () => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    const report = await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(report.output).toEqual([
      "node/old-1 cordoned",
      "evicting pod shop/web-0",
      "pod/web-0 evicted",
      "node/old-1 drained",
    ]);
  });

  it("goes at the pace of the budget without burning requests", async () => {
    const fake = await cluster();
    fake.workload("web", 12, ["old-1"], 11);
    fake.timing = { endMs: 10, readyMs: 30 };
    await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(fake.evicted).toHaveLength(12);
    // One at a time is allowed; asking for each would take 12 × 13 / 2 requests. A few races are fair.
    expect(fake.evictionRequests().length).toBeLessThanOrEqual(16);
  });

  it("never takes a budget below what it keeps", async () => {
    const fake = await cluster();
    fake.workload("web", 9, ["old-1", "old-2", "old-3"], 6);
    fake.timing = { endMs: 5, readyMs: 10 };
    let least = 9;
    fake.onEviction = () => {
      const ready = fake.all(PODS).filter((pod) => pod.metadata?.deletionTimestamp === undefined).length;
      least = Math.min(least, ready);
      return undefined;
    };
    await drainNodes(testContext(fake.server.api), spec(["old-1", "old-2", "old-3"], { maxNodesAtOnce: 3 }));
    expect(least).toBeGreaterThanOrEqual(6);
    expect(fake.evicted).toHaveLength(9);
  });

  it("takes the nodes in order, and never more at once than it may", async () => {
    const fake = await cluster();
    fake.workload("web", 6, ["old-1", "old-2", "old-3"], null);
    const seen: number[] = [];
    fake.onEviction = () => {
      seen.push(fake.cordoned().length);
      return undefined;
    };
    await drainNodes(testContext(fake.server.api), spec(["old-3", "old-1", "old-2"]));
    expect(fake.evicted.map((name) => Number(name.slice(-1)) % 3)).toEqual([2, 2, 0, 0, 1, 1]);
    expect(seen[0]).toBe(1);
    expect(seen.at(-1)).toBe(3);
  });

  it("works on several nodes side by side where it may", async () => {
    const fake = await cluster();
    fake.workload("web", 3, ["old-1", "old-2", "old-3"], null);
    fake.timing = { endMs: 300, readyMs: 20 };
    const report = await drainNodes(
      testContext(fake.server.api),
      spec(["old-1", "old-2", "old-3"], { maxNodesAtOnce: 3 }),
    );
    const events = journal(report.journal).map((entry) => entry.event);
    expect(events.indexOf("gone")).toBeGreaterThan(events.lastIndexOf("accepted"));
  });

  it("waits for a budget that lets go later, without a request meanwhile, and goes on with the event", async () => {
    const fake = await cluster();
    fake.workload("web", 3, ["old-1", "new-1", "new-1"], 2);
    fake.pod("web-1", "new-1", { ready: false });
    const draining = drainNodes(testContext(fake.server.api), spec(["old-1"]));
    await sleep(700);
    expect(fake.evictionRequests()).toEqual([]);
    const freedAt = performance.now();
    fake.pod("web-1", "new-1");
    await draining;
    expect(fake.evicted).toEqual(["web-0"]);
    expect(performance.now() - freedAt).toBeLessThan(4_000);
  });

  it("asks for an unhealthy pod although its budget allows nothing: only the server can tell", async () => {
    const fake = await cluster();
    fake.workload("web", 3, ["old-1", "new-1", "new-1"], 2);
    fake.pod("web-0", "old-1", { ready: false });
    fake.pod("web-1", "new-1", { ready: false });
    await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(fake.evicted).toEqual(["web-0"]);
  });

  it("waits and asks again after 429 that nobody could foresee", async () => {
    const fake = await cluster();
    fake.workload("web", 2, ["old-1", "new-1"], 1);
    let refused = 0;
    fake.onEviction = () => {
      refused += 1;
      return refused <= 3 ? failure(429, "TooManyRequests", "not now") : undefined;
    };
    const context = testContext(fake.server.api);
    const report = await drainNodes(context, spec(["old-1"]));
    expect(refused).toBe(4);
    const events = journal(report.journal).map((entry) => entry.event);
    expect(events).toEqual(["asked", "blocked", "blocked", "blocked", "accepted", "gone"]);
  });

  it("leaves pods of DaemonSets, and says so", async () => {
    const fake = await cluster();
    fake.put("/apis/apps/v1/daemonsets", {
      metadata: { namespace: "shop", name: "logs", uid: "uid-logs" },
      spec: {},
      status: {},
    });
    fake.put(PODS, {
      metadata: {
        namespace: "shop",
        name: "logs-x",
        uid: "uid-logs-x",
        ownerReferences: [{ kind: "DaemonSet", name: "logs", uid: "uid-logs", controller: true }],
      },
      spec: { nodeName: "old-1" },
      status: { phase: "Running" },
    });
    const report = await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(fake.evictionRequests()).toEqual([]);
    expect(report.output).toContain("Warning: ignoring DaemonSet-managed Pods: shop/logs-x");
  });

  it("waits for a pod that is ending already, without asking for it", async () => {
    const fake = await cluster();
    const pod = fake.pod("web-0", "old-1");
    fake.put(PODS, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date().toISOString() } });
    fake.after(300, () => {
      fake.remove(PODS, pod);
    });
    const before = performance.now();
    await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(performance.now() - before).toBeGreaterThan(250);
    expect(fake.evictionRequests()).toEqual([]);
  });

  it("takes in pods that are scheduled to the node before it is cordoned", async () => {
    const fake = await cluster();
    fake.workload("web", 2, ["old-1"], null);
    fake.onRequest = (asked) => {
      if (asked.method === "PATCH" && fake.find(PODS, "late") === undefined) fake.pod("late", "old-1");
      return undefined;
    };
    await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(fake.evicted).toContain("late");
  });
});

describe.concurrent("the command", () => {
  it("writes drain.txt, and after-drain.txt once the substitutes are Ready", async () => {
    const fake = await cluster();
    fake.workload("web", 3, ["old-1", "old-2", "old-3"], 2);
    const context = testContext(fake.server.api);
    const outcome = await drain.run(context, { ...spec(["old-1"]), listNamespace: "shop" });
    expect(outcome.summary).toMatch(/^old-1 drained: 1 evictions in \d+\.\d s \(forecast \d+\.\d s\)$/);
    expect(readFileSync(`${context.out}/drain.txt`, "utf8")).toContain("node/old-1 drained\n");
    const after = readFileSync(`${context.out}/after-drain.txt`, "utf8").trim().split("\n");
    expect(after).toHaveLength(3);
    expect(after.join()).not.toContain("old-1");
  });

  it("on the way back leaves the artefacts of the way forward alone", async () => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    const context = testContext(fake.server.api);
    await drain.run(context, { ...spec(["old-1"]), listNamespace: null });
    expect(() => readFileSync(`${context.out}/drain.txt`)).toThrow();
  });
});
