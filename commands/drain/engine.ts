/**
 * Drains nodes through the eviction API, as fast as the budgets allow and no faster: it watches pods and budgets, asks
 * for an eviction when the budgets on that pod allow one, and works on several nodes side by side. It can be stopped at
 * any moment and run again: evictions are journaled, and each is for one pod UID.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { BudgetFacts, PodFacts } from "../../analysis/inventory.ts";
import { cordon, evict } from "../../cluster/actions.ts";
import { UnreachableError } from "../../cluster/api.ts";
import { throwIfStopped, type Context } from "../context.ts";
import type { Entry, Journal } from "./journal.ts";
import { stuckRefusal } from "./stuck.ts";
import { budgetKey, type DrainView } from "./view.ts";

export interface DrainSettings {
  readonly nodes: readonly string[];
  readonly acknowledge: readonly string[];
  readonly maxNodesAtOnce: number;
  readonly timeoutSeconds: number;
}

/** Eviction requests under way at once. */
const REQUESTS_AT_ONCE = 16;
/** Ask again for a pod after this, where no event says when: it is unhealthy, or its budget was not looked at yet. */
const RETRY_MS = 2_000;
/** A budget seemed to allow it and the server said no: its status was older than the server's. Doubled each time. */
const RACE_MS = 100;
/** The watch will say that an accepted pod is ending. Only a watch that is broken for long makes it be asked again. */
const ACCEPTED_MS = 30_000;
/** Between two looks at the cluster; up to {@link REQUESTS_AT_ONCE} evictions are asked for at each. */
const GATHER_MS = 50;
/** The loop also looks around without being woken: time limits, pods that end without an event of interest. */
const TICK_MS = 500;

export class DrainEngine {
  readonly #context: Context;
  readonly #settings: DrainSettings;
  readonly #view: DrainView;
  readonly #journal: Journal;
  readonly #asked = new Set<string>();
  /** Evictions that the API server accepted, by UID, until the pod is gone. */
  readonly #accepted = new Map<string, Entry>();
  readonly #retryAt = new Map<string, number>();
  /** Times in a row that a pod was not let go although its budgets seemed to allow it. */
  readonly #races = new Map<string, number>();
  #toldAway = false;
  /** Evictions accepted since a budget's status was last seen; forgotten with the status object itself. */
  readonly #spent = new WeakMap<BudgetFacts, number>();
  readonly #cordoned = new Set<string>();
  readonly #finishedAt = new Map<string, Date>();
  /** Requests under way, by the pod's UID. */
  readonly #inFlight = new Map<string, Promise<void>>();
  /** Budgets, as `namespace/name`, of these requests. */
  readonly #busy = new Set<string>();
  /** The first error of a request: it ends the drain. */
  #failure: { readonly error: unknown } | undefined;
  readonly #deadline: number;

  constructor(context: Context, settings: DrainSettings, view: DrainView, journal: Journal) {
    this.#context = context;
    this.#settings = settings;
    this.#view = view;
    this.#journal = journal;
    this.#deadline = context.now().getTime() + settings.timeoutSeconds * 1_000;
    // What an earlier run asked for, and did not live to see the end of; it may have been killed before it could note the
    // answer. A pod that is still there is asked again, one that is not has gone.
    for (const entry of journal.entries) {
      if (entry.event === "asked") this.#asked.add(entry.uid);
      if (entry.event === "gone") this.#accepted.delete(entry.uid);
      else this.#accepted.set(entry.uid, entry);
    }
  }

  /** @returns when the last pod of each node was gone. Throws Refusal (stuck, refused) or Interrupted. */
  async run(): Promise<ReadonlyMap<string, Date>> {
    try {
      return await this.#loop();
    } finally {
      // Whatever ends the drain: the answers to what was asked belong into the journal.
      await Promise.all(this.#inFlight.values());
    }
  }

  async #loop(): Promise<ReadonlyMap<string, Date>> {
    for (;;) {
      throwIfStopped(this.#context.signal);
      if (this.#failure !== undefined) throw this.#failure.error;
      await this.#noteGone();
      const active = await this.#activeNodes();
      if (this.#settings.nodes.every((node) => this.#finishedAt.has(node))) {
        // The last pods may have gone while the nodes were looked at, before their answers were there.
        await Promise.all(this.#inFlight.values());
        await this.#noteGone();
        return this.#finishedAt;
      }
      if (this.#context.now().getTime() > this.#deadline) {
        throw stuckRefusal(this.#settings, this.#view, "the time limit is over");
      }
      this.#ask(active);
      await this.#view.changed(this.#restMs());
      // Every pod that goes brings a dozen events: they are looked at together.
      await sleep(GATHER_MS);
    }
  }

  /** Nodes at work now, in order, never more than the limit; a node with nothing left is finished and makes room. */
  async #activeNodes(): Promise<string[]> {
    await this.#cordonAhead();
    const active: string[] = [];
    for (const node of this.#settings.nodes) {
      if (this.#finishedAt.has(node)) continue;
      if (active.length >= this.#settings.maxNodesAtOnce) break;
      if (!(await this.#cordonOnce(node))) break;
      const buckets = this.#view.bucketsOf(node, this.#settings.acknowledge);
      if (buckets.refuse.length > 0)
        throw stuckRefusal(this.#settings, this.#view, "pods that may not be evicted");
      if (buckets.evict.length + buckets.ending.length > 0) active.push(node);
      else {
        this.#finishedAt.set(node, this.#context.now());
        this.#context.progress(`node/${node} drained`);
      }
    }
    return active;
  }

  /** Those whose turn it is, side by side: one after the other, hundreds of nodes would take longer than their pods. */
  async #cordonAhead(): Promise<void> {
    const turn = this.#settings.nodes
      .filter((node) => !this.#finishedAt.has(node))
      .slice(0, this.#settings.maxNodesAtOnce)
      .filter((node) => !this.#cordoned.has(node));
    for (let first = 0; first < turn.length; first += REQUESTS_AT_ONCE) {
      const done = await Promise.all(
        turn.slice(first, first + REQUESTS_AT_ONCE).map((node) => this.#cordonOnce(node)),
      );
      if (done.includes(false)) return;
    }
  }

  /** False while the API server is away. */
  async #cordonOnce(node: string): Promise<boolean> {
    if (this.#cordoned.has(node)) return true;
    const { document, progress, api } = this.#context;
    try {
      if (await cordon(api, node, `${document.stack}@${document.stage}`)) progress(`node/${node} cordoned`);
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      this.#tellAway(error.message);
      return false;
    }
    this.#cordoned.add(node);
    return true;
  }

  #tellAway(why: string): void {
    if (!this.#toldAway) this.#context.progress(`waiting: ${why}`);
    this.#toldAway = true;
  }

  /**
   * Sends what may go now, without waiting for the answers. One request at a time on a budget: of two, the API server
   * makes one wait half a second, because both write the budget's status (`EvictionsRetry` in eviction.go).
   */
  #ask(nodes: readonly string[]): void {
    const now = this.#context.now().getTime();
    for (const node of nodes) {
      for (const pod of this.#view.bucketsOf(node, this.#settings.acknowledge).evict) {
        if (this.#inFlight.size >= REQUESTS_AT_ONCE) return;
        if (this.#inFlight.has(pod.uid) || (this.#retryAt.get(pod.uid) ?? 0) > now) continue;
        const budgets = this.#view.budgetsOf(pod);
        if (budgets.some((budget) => this.#busy.has(budgetKey(budget))) || !this.#mayGo(pod, budgets))
          continue;
        this.#send(pod, budgets);
      }
    }
  }

  #send(pod: PodFacts, budgets: readonly BudgetFacts[]): void {
    // Counted before the answer, so that two pods never spend the same allowance.
    this.#spend(budgets, 1);
    for (const budget of budgets) this.#busy.add(budgetKey(budget));
    const request = this.#evictOne(pod, budgets)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => {
        this.#inFlight.delete(pod.uid);
        for (const budget of budgets) this.#busy.delete(budgetKey(budget));
        this.#view.wake();
      });
    this.#inFlight.set(pod.uid, request);
  }

  /** Until the next pod may be asked again, at most a tick; what happens meanwhile wakes the loop earlier. */
  #restMs(): number {
    const now = this.#context.now().getTime();
    const next = [...this.#retryAt.values()].filter((at) => at > now).map((at) => at - now);
    return Math.min(TICK_MS, ...next);
  }

  #spend(budgets: readonly BudgetFacts[], number: number): void {
    for (const budget of budgets) this.#spent.set(budget, (this.#spent.get(budget) ?? 0) + number);
  }

  /** An unhealthy pod may go although its budget allows no disruption; only the API server can tell, so it is asked. */
  #mayGo(pod: PodFacts, budgets: readonly BudgetFacts[]): boolean {
    if (!pod.ready) return true;
    return budgets.every(
      (budget) =>
        budget.status === null || budget.status.disruptionsAllowed - (this.#spent.get(budget) ?? 0) > 0,
    );
  }

  async #evictOne(pod: PodFacts, budgets: readonly BudgetFacts[]): Promise<void> {
    if (!this.#asked.has(pod.uid)) {
      this.#asked.add(pod.uid);
      await this.#write("asked", pod);
      this.#context.progress(`evicting pod ${pod.namespace}/${pod.name}`);
    }
    const answer = await evict(this.#context.api, pod);
    if (answer.result === "refused") throw stuckRefusal(this.#settings, this.#view, answer.message);
    if (answer.result === "accepted") {
      this.#toldAway = false;
      this.#accepted.set(pod.uid, await this.#write("accepted", pod));
      this.#retryIn(pod, ACCEPTED_MS);
      return;
    }
    // What was counted was not spent. A budget whose status stays as it is brings no event: it is asked again, ever slower.
    this.#spend(budgets, -1);
    if (answer.result === "away") this.#tellAway(answer.message);
    if (answer.result === "blocked") await this.#write("blocked", pod);
    const races = this.#races.get(pod.uid) ?? 0;
    this.#races.set(pod.uid, races + 1);
    this.#retryIn(pod, pod.ready ? Math.min(RETRY_MS, RACE_MS * 2 ** races) : RETRY_MS);
  }

  #retryIn(pod: PodFacts, milliseconds: number): void {
    this.#retryAt.set(pod.uid, this.#context.now().getTime() + milliseconds);
  }

  async #noteGone(): Promise<void> {
    const gone = [...this.#accepted].filter(([uid]) => !this.#view.has(uid));
    const at = this.#context.now().toISOString();
    // Side by side: the journal syncs together what comes together.
    await Promise.all(
      gone.map(async ([uid, entry]) => {
        this.#accepted.delete(uid);
        this.#retryAt.delete(uid);
        await this.#journal.write({ ...entry, event: "gone", at });
        this.#context.progress(`pod/${entry.pod} evicted`);
      }),
    );
  }

  async #write(event: Entry["event"], pod: PodFacts): Promise<Entry> {
    const entry: Entry = {
      at: this.#context.now().toISOString(),
      event,
      node: pod.nodeName ?? "",
      pod: `${pod.namespace}/${pod.name}`,
      uid: pod.uid,
      owner: pod.controller === null ? null : `${pod.controller.kind}/${pod.controller.name}`,
      budgets: this.#view.budgetsOf(pod).map(describeBudget),
    };
    await this.#journal.write(entry);
    return entry;
  }
}

export function describeBudget(budget: BudgetFacts): string {
  const status = budget.status;
  return status === null
    ? `${budget.name}: not looked at yet`
    : `${budget.name}: ${status.disruptionsAllowed} allowed, ${status.currentHealthy} healthy, ${status.desiredHealthy} wanted`;
}
