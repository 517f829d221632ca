import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { podFacts } from "../../cluster/inventory.ts";
import { LiveCollection } from "../../cluster/live.ts";
import { afterwards } from "./cleanup.ts";
import { FakeCluster, PODS } from "./fake-cluster.ts";
import { withCertificates } from "./fake-server.ts";

withCertificates();

async function watched() {
  const cluster = await FakeCluster.start();
  cluster.pod("a", "node-1");
  const stop = new AbortController();
  afterwards(() => {
    stop.abort();
  });
  const live = await LiveCollection.start(cluster.server.api, PODS, podFacts, stop.signal);
  const names = (): string[] => [...live.items.values()].map((pod) => pod.name).sort();
  const eventually = async (wanted: readonly string[], limitMs = 3_000): Promise<void> => {
    const end = performance.now() + limitMs;
    while (performance.now() < end && names().join() !== wanted.join()) await sleep(10);
    expect(names()).toEqual(wanted);
  };
  return { cluster, live, stop, names, eventually };
}

describe.concurrent("a collection that is kept true", () => {
  it("begins with what is there", async () => {
    const { names } = await watched();
    expect(names()).toEqual(["a"]);
  });

  it("follows what comes, changes and goes, and says so", async () => {
    const { cluster, live, eventually } = await watched();
    let told = 0;
    live.onChange(() => {
      told += 1;
    });
    const b = cluster.pod("b", "node-1");
    await eventually(["a", "b"]);
    cluster.pod("a", "node-1", { ready: false });
    cluster.remove(PODS, b);
    await eventually(["a"]);
    expect([...live.items.values()][0]?.ready).toBe(false);
    expect(told).toBeGreaterThanOrEqual(3);
  });

  it("takes a pod made anew under the same name for another one", async () => {
    const { cluster, live, eventually } = await watched();
    cluster.remove(PODS, { metadata: { namespace: "shop", name: "a", uid: "uid-a" } });
    cluster.pod("a", "node-2", { uid: "another" });
    await eventually(["a"]);
    await sleep(20);
    expect([...live.items.keys()]).toEqual(["another"]);
  });

  it("lists anew after 410 Gone, and misses nothing that happened meanwhile", async () => {
    const { cluster, eventually } = await watched();
    await sleep(30);
    cluster.expireWatches();
    cluster.pod("b", "node-1");
    cluster.remove(PODS, { metadata: { namespace: "shop", name: "a", uid: "uid-a" } });
    await eventually(["b"]);
    cluster.pod("c", "node-1");
    await eventually(["b", "c"]);
  });

  it("comes back after an API server that was away, and keeps what it knew until then", async () => {
    const { cluster, names, eventually } = await watched();
    await sleep(30);
    cluster.server.away = true;
    cluster.server.cut();
    cluster.pod("b", "node-1");
    await sleep(300);
    expect(names()).toEqual(["a"]);
    cluster.server.away = false;
    await eventually(["a", "b"], 4_000);
  });

  it("stops when it is told to", async () => {
    const { cluster, stop } = await watched();
    await sleep(30);
    stop.abort();
    await sleep(50);
    const asked = cluster.server.asked.length;
    cluster.pod("b", "node-1");
    await sleep(100);
    expect(cluster.server.asked.length).toBe(asked);
  });
});
