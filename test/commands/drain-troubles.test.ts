import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { drainNodes } from "../../commands/drain/index.ts";
import { Interrupted } from "../../commands/context.ts";
import { PODS } from "../cluster/fake-cluster.ts";
import { failure, withCertificates } from "../cluster/fake-server.ts";
import { testContext } from "./context.ts";
import { cluster, journal, refusal, spec, times } from "./drain-kit.ts";

withCertificates();

describe.concurrent("a drain that is refused", () => {
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
describe.concurrent("a drain that is stopped and run again", () => {
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
      if (fake.evicted.length === 1)
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
});
describe.concurrent("a drain on an API server that is not well", () => {
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
