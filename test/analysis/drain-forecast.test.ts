import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allowedDisruptions, desiredHealthy } from "../../analysis/budgets.ts";
import { type Forecast, type ForecastSettings, forecastDrain, waves } from "../../analysis/drain-forecast.ts";
import { podKey } from "../../analysis/drain-filters.ts";
import { forecastText, seconds } from "../../analysis/forecast-text.ts";
import { Heap } from "../../analysis/heap.ts";
import type { BudgetFacts, Inventory } from "../../analysis/inventory.ts";
import { budget, deployment, inventory, node, pod, select, status, workload } from "./facts.ts";

const settings = (more: Partial<ForecastSettings> = {}): ForecastSettings => ({
  maxNodesAtOnce: 1,
  readySeconds: 6,
  terminationSeconds: 1,
  ...more,
});

const withStatus = (one: BudgetFacts, replicas: number): BudgetFacts => ({
  ...one,
  status: status(replicas, replicas, desiredHealthy(one, replicas)),
});

/** Deployments of `replicas` pods, dealt out over the nodes, each under a budget of its own. */
function fleet(
  nodeCount: number,
  deployments: number,
  replicas: number,
  fields: Partial<BudgetFacts>,
): Inventory {
  const nodes = Array.from({ length: nodeCount }, (_, index) => `n${index}`);
  const all = Array.from({ length: deployments }, (_, index) => {
    const first = (index * replicas) % nodeCount;
    return deployment(`app-${index}`, replicas, { nodes: [...nodes.slice(first), ...nodes.slice(0, first)] });
  });
  return inventory({
    nodes: nodes.map((name) => node(name)),
    pods: all.flatMap(({ pods }) => pods),
    workloads: all.map(({ workload: one }) => one),
    budgets: all.map((_, index) => withStatus(budget(`app-${index}`, fields), replicas)),
  });
}

const names = ({ nodes }: Inventory): string[] => nodes.map(({ name }) => name);

describe("how long a drain takes", () => {
  test("200 nodes and 3,000 pods in 150 Deployments of 20 under maxUnavailable 10% take what the budgets allow", () => {
    const given = fleet(200, 150, 20, { maxUnavailable: "10%" });
    const started = performance.now();
    const forecast = forecastDrain(given, names(given), settings({ maxNodesAtOnce: 200 }));
    expect(performance.now() - started).toBeLessThan(1000);
    expect(forecast.evictions).toHaveLength(3000);
    expect(forecast.stuck).toEqual([]);
    // 20 pods, 2 at a time, 6 s each.
    expect(forecast.expectedSeconds).toBe(60);
    expect(forecast.shortestSeconds).toBe(60);
  });

  test("node by node takes longer than the budgets alone, and says both", () => {
    const given = fleet(200, 150, 20, { maxUnavailable: "10%" });
    const forecast = forecastDrain(given, names(given), settings());
    expect(forecast.shortestSeconds).toBe(60);
    expect(forecast.expectedSeconds).toBeGreaterThan(200);
  });

  test("5,000 nodes and 150,000 pods are forecast within 30 s", { timeout: 60_000 }, () => {
    const given = fleet(5000, 7500, 20, { maxUnavailable: "10%" });
    const started = performance.now();
    const forecast = forecastDrain(given, names(given), settings({ maxNodesAtOnce: 50 }));
    expect(performance.now() - started).toBeLessThan(30_000);
    expect(forecast.evictions).toHaveLength(150_000);
  });
});

describe("the course of a drain", () => {
  test("the exercise: one of three pods under minAvailable 2 leaves at once", () => {
    const web = deployment("web", 3, { nodes: ["old-1", "old-2", "new-1"] });
    const given = inventory({
      pods: web.pods,
      workloads: [web.workload],
      budgets: [withStatus(budget("web", { minAvailable: 2 }), 3)],
    });
    const forecast = forecastDrain(given, ["old-1"], settings());
    expect(forecast.evictions).toEqual([
      {
        pod: "shop/web-7d9f8-0",
        node: "old-1",
        at: 0,
        goneAt: 1,
        substituteReadyAt: 6,
        budget: "shop/web",
        waitedSeconds: 0,
      },
    ]);
    expect(forecast.nodes).toEqual([{ node: "old-1", pods: 1, startsAt: 0, emptyAt: 1 }]);
    expect(forecast.expectedSeconds).toBe(6);
    expect(forecastText(forecast)).toEqual([
      "drain of 1 node, 1 eviction: 6 s (the budgets alone: 6 s)",
      "  1. old-1: 1 pod, from 0 s, empty at 1 s",
    ]);
  });

  test("pods of one budget leave one after the other as substitutes get ready, and nodes follow in the order given", () => {
    const web = deployment("web", 4, { nodes: ["old-2", "old-1"] });
    const given = inventory({
      pods: web.pods,
      workloads: [web.workload],
      budgets: [withStatus(budget("web", { maxUnavailable: 1 }), 4)],
    });
    const forecast = forecastDrain(given, ["old-1", "old-2"], settings());
    expect(forecast.evictions.map(({ node: where, at }) => [where, at])).toEqual([
      ["old-1", 0],
      ["old-1", 6],
      ["old-2", 12],
      ["old-2", 18],
    ]);
    expect(forecast.nodes.map(({ startsAt, emptyAt }) => [startsAt, emptyAt])).toEqual([
      [0, 7],
      [7, 19],
    ]);
    expect(waves(forecast).map(({ at, evictions }) => [at, evictions.length])).toEqual([
      [0, 1],
      [6, 1],
      [12, 1],
      [18, 1],
    ]);
    expect(forecast.budgets).toEqual([
      { budget: "shop/web", pods: 4, atOnce: 1, waits: 3, longestWaitSeconds: 11, lastEvictionAt: 18 },
    ]);
    expect(forecastText(forecast)).toContain(
      "  budget shop/web slows it down: 4 pods, 1 at once, 3 wait, longest 11 s",
    );
  });

  test("a StatefulSet's substitute starts only when the old pod is gone", () => {
    const pods = [0, 1].map((index) =>
      pod(`db-${index}`, { labels: { app: "db" }, controller: { kind: "StatefulSet", name: "db", uid: "" } }),
    );
    const given = inventory({
      pods,
      workloads: [workload("StatefulSet", "db", { replicas: 2 })],
      budgets: [withStatus(budget("db", { maxUnavailable: 1 }), 2)],
    });
    const forecast = forecastDrain(given, ["old-1"], settings({ terminationSeconds: 10 }));
    expect(forecast.evictions.map(({ at, substituteReadyAt }) => [at, substituteReadyAt])).toEqual([
      [0, 16],
      [16, 32],
    ]);
  });

  test("a pod's own grace period caps the time it takes to go", () => {
    const given = inventory({
      pods: [pod("a", { gracePeriodSeconds: 2, controller: { kind: "ReplicaSet", name: "a-1", uid: "" } })],
    });
    expect(forecastDrain(given, ["old-1"], settings({ terminationSeconds: 30 })).nodes[0]?.emptyAt).toBe(2);
  });

  test("a pod that is terminating already is waited for, others on the node or not", () => {
    const given = inventory({ pods: [pod("going", { terminating: true })] });
    const forecast = forecastDrain(given, ["old-1", "old-2"], settings({ terminationSeconds: 5 }));
    expect(forecast.nodes.map(({ emptyAt }) => emptyAt)).toEqual([5, 5]);
    expect(forecast.evictions).toEqual([]);
  });

  test("a node that empties by itself before its turn gives no other node a place", () => {
    const controller = { kind: "ReplicaSet", name: "a-1", uid: "" };
    const given = inventory({
      pods: [
        pod("slow", { controller }),
        pod("going", { nodeName: "old-2", terminating: true, gracePeriodSeconds: 2 }),
        pod("last", { nodeName: "new-1", controller }),
      ],
    });
    const forecast = forecastDrain(given, ["old-1", "old-2", "new-1"], settings({ terminationSeconds: 20 }));
    expect(forecast.nodes.map(({ startsAt, emptyAt }) => [startsAt, emptyAt])).toEqual([
      [0, 20],
      [20, 20],
      [20, 40],
    ]);
  });

  test.each<[string, Partial<BudgetFacts>, string]>([
    ["never allows", { maxUnavailable: 0 }, "never allows"],
    ["equals the replicas", { minAvailable: 2 }, "has 2 healthy pods and wants 2"],
    ["is invalid", { minAvailable: "2" }, "neither a number"],
  ])("a budget that %s leaves the node stuck, and the nodes after it unstarted", (_name, fields, why) => {
    const web = deployment("web", 2);
    const given = inventory({
      pods: web.pods,
      workloads: [web.workload],
      budgets: [budget("web", { ...fields, status: status(2, 2, 2) })],
    });
    const forecast = forecastDrain(given, ["old-1", "old-2"], settings());
    expect(forecast.evictions).toEqual([]);
    expect(forecast.stuck.map(({ pod: name }) => name)).toEqual(["shop/web-7d9f8-0", "shop/web-7d9f8-1"]);
    expect(forecast.stuck[0]?.why).toContain(why);
    expect(forecast.nodes.map(({ startsAt, emptyAt }) => [startsAt, emptyAt])).toEqual([
      [0, null],
      [null, null],
    ]);
    const text = forecastText(forecast);
    expect(text[0]).toContain("does not end");
    expect(text).toContain("  2. old-2: 0 pods, never starts, never empty");
  });

  test("unmanaged pods and pods under two budgets are stuck too, until acknowledged or mended", () => {
    const web = deployment("web", 3);
    const given = inventory({
      pods: [pod("debug"), ...web.pods],
      workloads: [web.workload],
      budgets: [
        withStatus(budget("web", { minAvailable: 1 }), 3),
        withStatus(budget("all", { selector: select({ app: "web" }), minAvailable: 1 }), 3),
      ],
    });
    const reasons = forecastDrain(given, ["old-1"], settings()).stuck.map(({ why }) => why);
    expect(reasons).toHaveLength(4);
    expect(reasons[0]).toContain("will not come back");
    expect(reasons[1]).toContain("more than one budget (web, all)");
    const acknowledged = forecastDrain(given, ["old-1"], settings({ acknowledged: ["shop/debug"] }));
    expect(acknowledged.evictions.map(({ pod: name }) => name)).toEqual(["shop/debug"]);
  });

  test("pods that are not ready go without cost where the policy or a met budget says so", () => {
    const web = deployment("web", 3, { unready: 2 });
    const of = (more: Partial<BudgetFacts>): number =>
      forecastDrain(
        inventory({
          pods: web.pods,
          workloads: [web.workload],
          budgets: [budget("web", { status: status(3, 1, 2), ...more })],
        }),
        ["old-1"],
        settings(),
      ).evictions.length;
    expect(of({ minAvailable: 2 })).toBe(0);
    expect(of({ minAvailable: 2, unhealthyPodEvictionPolicy: "AlwaysAllow" })).toBe(2);
    expect(of({ minAvailable: 1 })).toBe(2);
  });

  test("names that are no nodes are ignored, a name given twice counts once", () => {
    expect(
      forecastDrain(inventory(), ["old-1", "nope", "old-1"], settings()).nodes.map((one) => one.node),
    ).toEqual(["old-1"]);
  });

  test.each([
    { maxNodesAtOnce: 0 },
    { maxNodesAtOnce: 1.5 },
    { readySeconds: -1 },
    { terminationSeconds: NaN },
  ])("%j makes no sense", (more) => {
    expect(() => forecastDrain(inventory(), [], settings(more))).toThrow(RangeError);
  });

  test("long lists are cut, and say so", () => {
    const given = fleet(30, 1, 30, { maxUnavailable: 1 });
    const text = forecastText(forecastDrain(given, names(given), settings()));
    expect(text).toContain("  … and 10 more nodes");
  });

  test.each([
    [0, "0 s"],
    [59.2, "1 min"],
    [61, "1 min 1 s"],
    [3600, "1 h"],
    [3900.5, "1 h 6 min"],
  ])("%d seconds read %s", (value, text) => {
    expect(seconds(value)).toBe(text);
  });
});

describe("properties", () => {
  const rule = fc.oneof(
    fc.integer({ min: 0, max: 4 }).map((minAvailable) => ({ minAvailable })),
    fc.integer({ min: 0, max: 4 }).map((maxUnavailable) => ({ maxUnavailable })),
    fc.integer({ min: 0, max: 100 }).map((percent) => ({ maxUnavailable: `${percent}%` })),
    fc.integer({ min: 0, max: 100 }).map((percent) => ({ minAvailable: `${percent}%` })),
  );
  const world = fc
    .record({
      apps: fc.array(
        fc.record({
          replicas: fc.integer({ min: 1, max: 7 }),
          unready: fc.integer({ min: 0, max: 2 }),
          rule: fc.option(rule),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      nodeCount: fc.integer({ min: 1, max: 4 }),
      width: fc.integer({ min: 1, max: 4 }),
      readySeconds: fc.integer({ min: 0, max: 9 }),
      terminationSeconds: fc.integer({ min: 0, max: 40 }),
    })
    .map(({ apps, nodeCount, width, readySeconds, terminationSeconds }) => {
      const nodes = Array.from({ length: nodeCount }, (_, index) => `n${index}`);
      const all = apps.map(({ replicas, unready }, index) =>
        deployment(`app-${index}`, replicas, { unready: Math.min(unready, replicas), nodes }),
      );
      const budgets = apps.flatMap(({ replicas, unready, rule: fields }, index) => {
        if (fields === null) return [];
        const one = budget(`app-${index}`, fields);
        return [
          {
            ...one,
            status: status(replicas, replicas - Math.min(unready, replicas), desiredHealthy(one, replicas)),
          },
        ];
      });
      return {
        given: inventory({
          nodes: nodes.map((name) => node(name)),
          pods: all.flatMap(({ pods }) => pods),
          workloads: all.map(({ workload: one }) => one),
          budgets,
        }),
        settings: { maxNodesAtOnce: width, readySeconds, terminationSeconds },
      };
    });

  /** Plays the forecast back against the budgets, second by second. */
  function expectBudgetsKept(given: Inventory, forecast: Forecast): void {
    const ready = new Set(given.pods.filter((one) => one.ready).map(podKey));
    for (const one of given.budgets) {
      const start = one.status;
      if (start === null) continue;
      const own = forecast.evictions.filter(
        ({ budget: key, pod: name }) => key === `${one.namespace}/${one.name}` && ready.has(name),
      );
      for (const { at } of own) {
        const out = own.filter((other) => other.at <= at).length;
        const back = own.filter(
          (other) => other.substituteReadyAt !== null && other.substituteReadyAt <= at,
        ).length;
        expect(start.currentHealthy - out + back).toBeGreaterThanOrEqual(start.desiredHealthy);
      }
    }
  }

  test("no budget is broken at any instant", () => {
    fc.assert(
      fc.property(world, ({ given, settings: how }) => {
        expectBudgetsKept(given, forecastDrain(given, names(given), how));
      }),
    );
  });

  test("every pod leaves exactly once or is named as stuck, and shortest is never more than expected", () => {
    fc.assert(
      fc.property(world, ({ given, settings: how }) => {
        const forecast = forecastDrain(given, names(given), how);
        const left = forecast.evictions.map(({ pod: name }) => name);
        const held = forecast.stuck.map(({ pod: name }) => name);
        expect(new Set(left).size).toBe(left.length);
        expect(forecast.shortestSeconds).toBeLessThanOrEqual(forecast.expectedSeconds);
        const unreached = new Set(
          forecast.nodes.filter(({ startsAt }) => startsAt === null).map((one) => one.node),
        );
        const reached = given.pods.filter(({ nodeName }) => !unreached.has(nodeName ?? "")).map(podKey);
        expect([...left, ...held].sort()).toEqual(reached.sort());
      }),
    );
  });

  test("a budget that allows one with all pods ready never leaves a pod stuck", () => {
    fc.assert(
      fc.property(world, ({ given, settings: how }) => {
        const healthy = given.pods.map((one) => ({ ...one, ready: true }));
        const open = given.budgets.map((one) => {
          const expected = one.status?.expectedPods ?? 0;
          return { ...one, status: status(expected, expected, desiredHealthy(one, expected)) };
        });
        const allows = open.filter((one) => {
          const expected = one.status.expectedPods;
          return allowedDisruptions(one, { expected, healthy: expected }) > 0;
        });
        const forecast = forecastDrain({ ...given, pods: healthy, budgets: allows }, names(given), how);
        expect(forecast.stuck).toEqual([]);
        expect(forecast.nodes.every(({ emptyAt }) => emptyAt !== null)).toBe(true);
      }),
    );
  });

  test("no more nodes are open at a time than the setting says, and the same input gives the same forecast", () => {
    fc.assert(
      fc.property(world, ({ given, settings: how }) => {
        const forecast = forecastDrain(given, names(given), how);
        expect(forecastDrain(given, names(given), how)).toEqual(forecast);
        for (const { startsAt } of forecast.nodes) {
          if (startsAt === null) continue;
          const open = forecast.nodes.filter(
            (one) =>
              one.startsAt !== null && one.startsAt <= startsAt && (one.emptyAt ?? Infinity) > startsAt,
          );
          expect(open.length).toBeLessThanOrEqual(how.maxNodesAtOnce);
        }
      }),
    );
  });

  test("a heap gives back what it was given, in order, equals in the order they came", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9)), (values) => {
        const heap = new Heap<{ readonly value: number; readonly index: number }>(
          (a, b) => a.value - b.value,
        );
        values.forEach((value, index) => {
          heap.push({ value, index });
        });
        const out = values.map(() => heap.pop());
        expect(heap.pop()).toBeUndefined();
        const right = values
          .map((value, index) => ({ value, index }))
          .sort((a, b) => a.value - b.value || a.index - b.index);
        expect(out).toEqual(right);
      }),
    );
  });
});
