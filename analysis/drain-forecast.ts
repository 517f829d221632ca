/**
 * How a drain would go: a discrete-event simulation in virtual seconds that lets a pod leave exactly when the eviction
 * API would. All nodes named are cordoned before the first eviction, so substitutes start elsewhere and each pod moves once.
 */

import {
  type ForecastSettings,
  type Gate,
  type Leaving,
  type StuckPod,
  type Work,
  prepare,
} from "./drain-work.ts";
import { Heap } from "./heap.ts";
import type { Inventory } from "./inventory.ts";

export type { ForecastSettings, StuckPod } from "./drain-work.ts";

export interface Eviction {
  /** `namespace/name`. */
  readonly pod: string;
  readonly node: string;
  /** Virtual seconds since the start. */
  readonly at: number;
  readonly goneAt: number;
  /** Null where no substitute comes, or where the pod was not ready and its substitute is not counted on either. */
  readonly substituteReadyAt: number | null;
  /** `namespace/name` of the budget over it; null if there is none that counts. */
  readonly budget: string | null;
  /** How long the budget kept it after its node's turn had come. */
  readonly waitedSeconds: number;
}

export interface NodeForecast {
  readonly node: string;
  readonly pods: number;
  /** Null for a node whose turn never comes, because those before it never get empty. */
  readonly startsAt: number | null;
  /** Null when a pod never leaves it. */
  readonly emptyAt: number | null;
}

export interface BudgetForecast {
  readonly budget: string;
  readonly pods: number;
  /** Most evictions at one time with all its pods healthy. */
  readonly atOnce: number;
  /** Evictions that had to wait for it. */
  readonly waits: number;
  readonly longestWaitSeconds: number;
  readonly lastEvictionAt: number | null;
}

/** Evictions of the same virtual second. */
export interface Wave {
  readonly at: number;
  readonly evictions: readonly Eviction[];
}

export interface Forecast {
  /** In the order of eviction. */
  readonly evictions: readonly Eviction[];
  readonly nodes: readonly NodeForecast[];
  /** Budgets with a pod on these nodes, longest wait first. */
  readonly budgets: readonly BudgetForecast[];
  /** What keeps nodes from getting empty. Empty when the drain ends. */
  readonly stuck: readonly StuckPod[];
  /** Until all nodes are empty and every substitute is Ready, as far as the drain gets. */
  readonly expectedSeconds: number;
  /** The same with all nodes at once: no order or width of the drain can beat the budgets. */
  readonly shortestSeconds: number;
}

/** Follows `nodeOrder`; names that are not in the inventory are ignored. @throws RangeError for settings that make no sense. */
export function forecastDrain(
  inventory: Inventory,
  nodeOrder: readonly string[],
  settings: ForecastSettings,
): Forecast {
  if (!Number.isInteger(settings.maxNodesAtOnce) || settings.maxNodesAtOnce < 1) {
    throw new RangeError(`maxNodesAtOnce is a whole number from 1, not ${settings.maxNodesAtOnce}`);
  }
  if (!(settings.readySeconds >= 0) || !(settings.terminationSeconds >= 0)) {
    throw new RangeError("readySeconds and terminationSeconds are numbers from 0");
  }
  const work = prepare(inventory, nodeOrder, settings);
  const forecast = simulate(work, settings);
  const width = Math.max(1, work.nodes.length);
  const widest =
    settings.maxNodesAtOnce >= width ? forecast : simulate(work, { ...settings, maxNodesAtOnce: width });
  return { ...forecast, shortestSeconds: Math.min(widest.expectedSeconds, forecast.expectedSeconds) };
}

/** Groups the evictions by their second, for reports. */
export function waves(forecast: Pick<Forecast, "evictions">): Wave[] {
  const groups = new Map<number, Eviction[]>();
  for (const eviction of forecast.evictions) {
    const group = groups.get(eviction.at);
    if (group === undefined) groups.set(eviction.at, [eviction]);
    else group.push(eviction);
  }
  return [...groups].map(([at, evictions]) => ({ at, evictions }));
}

type Event =
  | { readonly at: number; readonly kind: "gone"; readonly node: number }
  | { readonly at: number; readonly kind: "ready"; readonly budget: number | null };

interface Waiting {
  readonly pod: Leaving;
  readonly since: number;
}

/** One run. `shortestSeconds` is filled in by the caller. */
function simulate({ nodes, budgets, stuck }: Work, { maxNodesAtOnce }: ForecastSettings): Forecast {
  const events = new Heap<Event>((a, b) => a.at - b.at);
  const healthy = budgets.map((budget) => budget.healthy);
  const queues = budgets.map((): { ready: Waiting[]; unready: Waiting[]; next: number } => ({
    ready: [],
    unready: [],
    next: 0,
  }));
  const left = nodes.map((node) => node.pods.length + node.terminating.length + node.stuck);
  const startsAt = nodes.map((): number | null => null);
  const emptyAt = nodes.map((): number | null => null);
  const evictions: Eviction[] = [];
  let opened = 0;
  let open = 0;
  let end = 0;

  const evict = ({ pod, since }: Waiting, now: number): void => {
    const substituteReadyAt = pod.substituteSeconds === null ? null : now + pod.substituteSeconds;
    const goneAt = now + pod.terminationSeconds;
    events.push({ at: goneAt, kind: "gone", node: pod.node });
    if (pod.budget !== null && pod.ready) {
      healthy[pod.budget] = (healthy[pod.budget] ?? 0) - 1;
    }
    if (substituteReadyAt !== null) events.push({ at: substituteReadyAt, kind: "ready", budget: pod.budget });
    end = Math.max(end, goneAt, substituteReadyAt ?? 0);
    evictions.push({
      pod: pod.key,
      node: nodes[pod.node]?.name ?? "",
      at: now,
      goneAt,
      substituteReadyAt,
      budget: pod.budget === null ? null : (budgets[pod.budget]?.key ?? null),
      waitedSeconds: now - since,
    });
  };

  /** Grants what the budget allows now, as `checkAndDecrement` would; a pod that is not ready costs nothing. */
  const serve = (number: number, now: number): void => {
    const budget = budgets[number];
    const queue = queues[number];
    if (budget === undefined || queue === undefined) return;
    const count = (): number => healthy[number] ?? 0;
    const met = budget.closed === null && budget.desired > 0 && count() >= budget.desired;
    const spare = budget.closed === null && count() > budget.desired;
    if (budget.unreadyFree || met || spare) {
      for (const waiting of queue.unready.splice(0)) evict(waiting, now);
    }
    while (budget.closed === null && count() > budget.desired && queue.next < queue.ready.length) {
      const waiting = queue.ready[queue.next++];
      if (waiting !== undefined) evict(waiting, now);
    }
  };

  const openNodes = (now: number): void => {
    while (open < maxNodesAtOnce && opened < nodes.length) {
      const number = opened++;
      const node = nodes[number];
      if (node === undefined) break;
      startsAt[number] = now;
      if (left[number] === 0) {
        emptyAt[number] = now;
        continue;
      }
      open++;
      const touched = new Set<number>();
      for (const pod of node.pods) {
        if (pod.budget === null) {
          evict({ pod, since: now }, now);
          continue;
        }
        touched.add(pod.budget);
        queues[pod.budget]?.[pod.ready ? "ready" : "unready"].push({ pod, since: now });
      }
      for (const budget of touched) serve(budget, now);
    }
  };

  nodes.forEach(({ terminating }, node) => {
    for (const at of terminating) {
      events.push({ at, kind: "gone", node });
      end = Math.max(end, at);
    }
  });
  openNodes(0);
  for (let event = events.pop(); event !== undefined; event = events.pop()) {
    if (event.kind === "ready") {
      const { at, budget } = event;
      if (budget !== null) {
        healthy[budget] = (healthy[budget] ?? 0) + 1;
        serve(budget, at);
      }
      continue;
    }
    const { at, node } = event;
    left[node] = (left[node] ?? 0) - 1;
    // A pod that was on its way out may leave before its node's turn comes.
    if (left[node] === 0 && startsAt[node] !== null) {
      emptyAt[node] = at;
      open--;
      openNodes(at);
    }
  }

  const held = queues.flatMap((queue, number) =>
    [...queue.ready.slice(queue.next), ...queue.unready].map(({ pod }): StuckPod => ({
      pod: pod.key,
      node: nodes[pod.node]?.name ?? "",
      why: whyHeld(budgets[number], healthy[number] ?? 0),
    })),
  );
  return {
    evictions,
    nodes: nodes.map(({ name, pods }, number) => ({
      node: name,
      pods: pods.length,
      startsAt: startsAt[number] ?? null,
      emptyAt: emptyAt[number] ?? null,
    })),
    budgets: summarise(
      budgets,
      nodes.flatMap((node) => node.pods),
      evictions,
    ),
    stuck: [...stuck, ...held],
    expectedSeconds: end,
    shortestSeconds: end,
  };
}

function whyHeld(budget: Gate | undefined, healthy: number): string {
  if (budget === undefined) return "is held";
  return budget.closed === null
    ? `budget ${budget.key} has ${healthy} healthy pods and wants ${budget.desired}`
    : `budget ${budget.key}: ${budget.closed}`;
}

function summarise(
  budgets: readonly Gate[],
  pods: readonly Leaving[],
  evictions: readonly Eviction[],
): BudgetForecast[] {
  const counts = budgets.map(() => 0);
  for (const { budget } of pods) if (budget !== null) counts[budget] = (counts[budget] ?? 0) + 1;
  const stats = new Map(
    budgets.map(({ key }) => [key, { waits: 0, longest: 0, last: null as number | null }]),
  );
  for (const { budget, at, waitedSeconds } of evictions) {
    const stat = budget === null ? undefined : stats.get(budget);
    if (stat === undefined) continue;
    stat.last = at;
    if (waitedSeconds > 0) stat.waits++;
    stat.longest = Math.max(stat.longest, waitedSeconds);
  }
  return budgets
    .map(({ key, atOnce }, number) => {
      const stat = stats.get(key);
      return {
        budget: key,
        pods: counts[number] ?? 0,
        atOnce,
        waits: stat?.waits ?? 0,
        longestWaitSeconds: stat?.longest ?? 0,
        lastEvictionAt: stat?.last ?? null,
      };
    })
    .sort((a, b) => b.longestWaitSeconds - a.longestWaitSeconds || (a.budget < b.budget ? -1 : 1));
}
