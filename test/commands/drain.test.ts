import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { drainNodes, drain, type DrainSpec } from "../../commands/drain/index.ts";
import { Interrupted, Refusal } from "../../commands/context.ts";
import type { Entry } from "../../commands/drain/journal.ts";
import { FakeCluster, PODS } from "../cluster/fake-cluster.ts";
import { failure, withCertificates } from "../cluster/fake-server.ts";
import { testContext } from "./context.ts";

withCertificates();

const spec = (nodes: readonly string[], more: Partial<DrainSpec> = {}): DrainSpec => ({
  nodes: [...nodes],
  acknowledge: [],
  maxNodesAtOnce: 1,
  timeoutSeconds: 20,
  readySeconds: 1,
  terminationSeconds: 1,
  since: 1,
  ...more,
});

/** Three nodes to drain and one to go to. */
async function cluster(): Promise<FakeCluster> {
  const fake = await FakeCluster.start();
  for (const name of ["old-1", "old-2", "old-3", "new-1"]) fake.node(name);
  return fake;
}

async function refusal(promise: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await promise.then(
    () => {
      throw new Error("no refusal");
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof Refusal)) throw error;
  return error;
}

const journal = (file: string): Entry[] =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Entry);

const times = (values: readonly string[]): Record<string, number> =>
  Object.fromEntries(values.map((value) => [value, values.filter((one) => one === value).length]));

describe("a drain", () => {
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
    const before = performance.now();
    await drainNodes(testContext(fake.server.api), spec(["old-1", "old-2", "old-3"], { maxNodesAtOnce: 3 }));
    // One after the other would take three times 300 ms.
    expect(performance.now() - before).toBeLessThan(900);
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
    expect(performance.now() - freedAt).toBeLessThan(1_000);
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

describe("a drain that is refused", () => {
  it("cordons nothing when a pod would not come back", async () => {
    const fake = await cluster();
    fake.workload("web", 2, ["old-1"], null);
    fake.pod("shell", "old-2", { owner: false });
    const refused = await refusal(drainNodes(testContext(fake.server.api), spec(["old-1", "old-2"])));
    expect(refused.message).toContain("no node was cordoned");
    expect(refused.findings.map((one) => `${one.subject} ${one.message}`).join()).toContain("shop/shell");
    expect(fake.cordoned()).toEqual([]);
    expect(fake.server.asked.every((one) => one.method === "GET")).toBe(true);
  });

  it("evicts such a pod once it is acknowledged by its name", async () => {
    const fake = await cluster();
    fake.pod("shell", "old-1", { owner: false });
    await drainNodes(testContext(fake.server.api), spec(["old-1"], { acknowledge: ["shop/shell"] }));
    expect(fake.evicted).toEqual(["shell"]);
  });

  it("cordons nothing when a budget forbids it for good, and names it", async () => {
    const fake = await cluster();
    fake.workload("web", 2, ["old-1"], 2);
    const refused = await refusal(drainNodes(testContext(fake.server.api), spec(["old-1"])));
    expect(refused.findings.map((one) => one.subject + one.message).join()).toContain("web-pdb");
    expect(fake.cordoned()).toEqual([]);
  });

  it("stops at an answer that waiting does not mend", async () => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    fake.onEviction = () => failure(500, "InternalError", "This pod has more than one PodDisruptionBudget");
    const refused = await refusal(drainNodes(testContext(fake.server.api), spec(["old-1"])));
    expect(refused.findings[0]?.message).toContain("more than one PodDisruptionBudget");
    expect(fake.evictionRequests()).toHaveLength(1);
  });

  it("ends at its time limit and names pods and budgets", async () => {
    const fake = await cluster();
    fake.workload("web", 3, ["old-1", "new-1", "new-1"], 2);
    fake.pod("web-1", "new-1", { ready: false });
    const refused = await refusal(
      drainNodes(testContext(fake.server.api), spec(["old-1"], { timeoutSeconds: 0.4 })),
    );
    expect(refused.message).toBe("the drain did not end");
    const text = refused.findings.map((one) => `${one.subject} ${one.message}`).join("\n");
    expect(text).toContain("the time limit is over; 1 pods are left");
    expect(text).toContain("shop/web-0");
    expect(text).toContain("web-pdb");
    expect(fake.cordoned()).toEqual(["old-1"]);
  });

  it("does not wait for ever for a pod that is gone from the API only", async () => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    fake.timing = { endMs: 60_000, readyMs: null };
    const refused = await refusal(
      drainNodes(testContext(fake.server.api), spec(["old-1"], { timeoutSeconds: 0.4 })),
    );
    expect(refused.findings.map((one) => one.message).join()).toContain("shop/web-0 is still on it");
    expect(fake.evicted).toEqual(["web-0"]);
  });
});

describe("a drain that is stopped and run again", () => {
  it("stops between two steps when it is told to", async () => {
    const fake = await cluster();
    fake.workload("web", 3, ["old-1", "new-1", "new-1"], 2);
    fake.pod("web-1", "new-1", { ready: false });
    const context = testContext(fake.server.api);
    setTimeout(() => {
      context.stop("stopped by SIGTERM");
    }, 100);
    const error = await drainNodes(context, spec(["old-1"])).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(Interrupted);
    expect((error as Error).message).toContain("stopped by SIGTERM");
  });

  it("goes on in the same journal: each pod is asked for once, and what had gone meanwhile is noted", async () => {
    const fake = await cluster();
    fake.workload("web", 4, ["old-1"], 2);
    fake.timing = { endMs: 400, readyMs: 20 };
    const first = testContext(fake.server.api);
    fake.onEviction = () => {
      setTimeout(() => {
        first.stop("killed");
      }, 50);
      return undefined;
    };
    await expect(drainNodes(first, spec(["old-1"]))).rejects.toBeInstanceOf(Interrupted);
    const before = [...fake.evicted];
    expect(before).toHaveLength(2);
    await sleep(450);
    fake.onEviction = () => undefined;
    fake.timing = { endMs: 10, readyMs: 10 };
    const report = await drainNodes(testContext(fake.server.api, { out: first.out }), spec(["old-1"]));
    expect(Object.values(times(fake.evicted))).toEqual([1, 1, 1, 1]);
    expect(report.evicted).toBe(4);
    const entries = journal(report.journal);
    for (const event of ["asked", "accepted", "gone"] as const)
      expect(
        entries
          .filter((entry) => entry.event === event)
          .map((entry) => entry.pod)
          .sort(),
        event,
      ).toEqual(["shop/web-0", "shop/web-1", "shop/web-2", "shop/web-3"]);
  });

  it("asks once more for a pod of which it does not know whether its request arrived", async () => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    const first = testContext(fake.server.api);
    fake.onRequest = (asked) => {
      if (!asked.path.endsWith("/eviction")) return undefined;
      fake.server.cut();
      return undefined;
    };
    await drainNodes(first, spec(["old-1"])).catch(() => undefined);
    fake.onRequest = () => undefined;
    const report = await drainNodes(testContext(fake.server.api, { out: first.out }), spec(["old-1"]));
    expect(journal(report.journal).filter((entry) => entry.event === "asked")).toHaveLength(1);
    expect(fake.all(PODS).map((pod) => pod.metadata?.name)).not.toContain("web-0");
  });

  it("does not evict by an old UID a pod that was made anew under the same name", async () => {
    const fake = await cluster();
    fake.workload("db", 1, ["old-1"], null);
    let asked = 0;
    fake.onEviction = (pod) => {
      asked += 1;
      expect(pod.metadata?.uid).not.toBe("uid-db-0");
      return undefined;
    };
    fake.onRequest = (request) => {
      // Between the look and the request: the pod is replaced, as a StatefulSet does.
      if (request.path.endsWith("/eviction") && asked === 0) {
        asked += 1;
        fake.remove(PODS, { metadata: { namespace: "shop", name: "db-0", uid: "uid-db-0" } });
        fake.pod("db-0", "new-1", { uid: "another", app: "db" });
      }
      return undefined;
    };
    await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(fake.evicted).toEqual([]);
    expect(fake.all(PODS).map((pod) => pod.metadata?.uid)).toContain("another");
  });

  it("does not ask twice for a pod that was accepted while its watch is late", async () => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    fake.timing = { endMs: 2_600, readyMs: null };
    fake.silent = true;
    fake.after(2_500, () => {
      fake.silent = false;
    });
    await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(fake.evictionRequests()).toEqual(["web-0"]);
  });

  it.each([
    ["503", () => failure(503, "ServiceUnavailable", "apiserver is shutting down")],
    ["500 of etcd", () => failure(500, "ServerTimeout", "etcdserver: request timed out")],
    [
      "429 of its own flow control",
      () => failure(429, "TooManyRequests", "too many requests, try again later"),
    ],
    [
      "403 of a namespace that is being deleted",
      () => ({
        status: 403,
        body: {
          message: "forbidden",
          reason: "Forbidden",
          details: { causes: [{ reason: "NamespaceTerminating" }] },
        },
      }),
    ],
  ])("asks again after %s", async (_, answer) => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    let asked = 0;
    fake.onEviction = () => {
      asked += 1;
      return asked === 1 ? answer() : undefined;
    };
    await drainNodes(testContext(fake.server.api), spec(["old-1"]));
    expect(asked).toBe(2);
    expect(fake.evicted).toEqual(["web-0"]);
  });

  it("stops at once where it has no right to evict", async () => {
    const fake = await cluster();
    fake.workload("web", 1, ["old-1"], null);
    fake.onEviction = () => failure(403, "Forbidden", 'cannot create resource "pods/eviction"');
    const refused = await refusal(drainNodes(testContext(fake.server.api), spec(["old-1"])));
    expect(refused.findings[0]?.message).toContain("pods/eviction");
  });

  it("goes on through an API server that is away for a moment", async () => {
    const fake = await cluster();
    fake.workload("web", 6, ["old-1"], 5);
    fake.timing = { endMs: 20, readyMs: 40 };
    fake.onEviction = () => {
      if (fake.evicted.length !== 1 || fake.server.away) return undefined;
      fake.server.away = true;
      fake.server.cut();
      fake.after(300, () => {
        fake.server.away = false;
      });
      return undefined;
    };
    await drainNodes(testContext(fake.server.api), spec(["old-1", "old-2"]));
    expect(Object.values(times(fake.evicted)).every((count) => count === 1)).toBe(true);
    expect(fake.evicted).toHaveLength(6);
  });
});

describe("the command", () => {
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
