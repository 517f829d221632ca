/** What a drain looks at, kept true by watches: pods by node, budgets, and which pods may be evicted. */
import type { V1Pod, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { BudgetIndex } from "../../analysis/budgets.ts";
import { classifyPods, type PodDecision } from "../../analysis/drain-filters.ts";
import type { BudgetFacts, Inventory, PodFacts } from "../../analysis/inventory.ts";
import type { Api } from "../../cluster/api.ts";
import { budgetFacts, podFacts, readInventory } from "../../cluster/inventory.ts";
import { LiveCollection } from "../../cluster/live.ts";

export interface Buckets {
  readonly evict: readonly PodFacts[];
  /** Ending already: not asked for again, but the node is not empty before they are gone. */
  readonly ending: readonly PodFacts[];
  readonly refuse: readonly PodDecision[];
}

interface Indexed {
  readonly byNode: ReadonlyMap<string, readonly PodFacts[]>;
  /** By `namespace/name`. */
  readonly budgets: ReadonlyMap<string, BudgetFacts>;
}

export class DrainView {
  /** As it was at the start: owners of pods do not change while a drain goes on. */
  readonly start: Inventory;
  readonly #pods: LiveCollection<PodFacts>;
  readonly #budgets: LiveCollection<BudgetFacts>;
  readonly #decisions = new WeakMap<PodFacts, PodDecision>();
  #index: Indexed | undefined;
  /** Which budgets, as `namespace/name`, are on a pod: holds for as long as no selector changes, whatever the statuses do. */
  #covered = new WeakMap<PodFacts, readonly string[]>();
  #selectors: { fingerprint: string; index: BudgetIndex } | undefined;
  #changed = false;
  #wake: (() => void) | undefined;

  private constructor(
    start: Inventory,
    pods: LiveCollection<PodFacts>,
    budgets: LiveCollection<BudgetFacts>,
  ) {
    this.start = start;
    this.#pods = pods;
    this.#budgets = budgets;
    for (const live of [pods, budgets]) {
      live.onChange(() => {
        this.#index = undefined;
        this.wake();
      });
    }
  }

  static async open(api: Api, signal: AbortSignal): Promise<DrainView> {
    const [start, pods, budgets] = await Promise.all([
      readInventory(api),
      LiveCollection.start<V1Pod, PodFacts>(api, "/api/v1/pods", podFacts, signal),
      LiveCollection.start<V1PodDisruptionBudget, BudgetFacts>(
        api,
        "/apis/policy/v1/poddisruptionbudgets",
        budgetFacts,
        signal,
      ),
    ]);
    return new DrainView(start, pods, budgets);
  }

  has(uid: string): boolean {
    return this.#pods.items.has(uid);
  }

  /** Resolves at the next change (at once, if one came since the last call), or after the limit. */
  async changed(limitMs: number): Promise<void> {
    if (!this.#changed) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, limitMs);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.#wake = undefined;
    }
    this.#changed = false;
  }

  /** As a change would: for news that no watch brings. */
  wake(): void {
    this.#changed = true;
    this.#wake?.();
  }

  bucketsOf(node: string, acknowledge: readonly string[]): Buckets {
    const decisions = this.#decide(this.#indexed().byNode.get(node) ?? [], acknowledge);
    return {
      evict: decisions.filter(({ behaviour }) => behaviour === "evict").map(({ pod }) => pod),
      ending: decisions.filter(({ waitFor }) => waitFor).map(({ pod }) => pod),
      refuse: decisions.filter(({ behaviour }) => behaviour === "refuse"),
    };
  }

  /** A pod's facts object stands for one state of it: what was decided for it holds until the watch brings another. */
  #decide(pods: readonly PodFacts[], acknowledge: readonly string[]): PodDecision[] {
    const fresh = pods.filter((pod) => !this.#decisions.has(pod));
    if (fresh.length > 0) {
      const buckets = classifyPods(fresh, { acknowledged: acknowledge, workloads: this.start.workloads });
      for (const decision of [...buckets.evict, ...buckets.skip, ...buckets.refuse])
        this.#decisions.set(decision.pod, decision);
    }
    return pods.flatMap((pod) => this.#decisions.get(pod) ?? []);
  }

  /** Pods of DaemonSets on this node: they stay, and people are told. */
  skippedDaemons(node: string): readonly PodFacts[] {
    return (this.#indexed().byNode.get(node) ?? []).filter((pod) => pod.controller?.kind === "DaemonSet");
  }

  budgetsOf(pod: PodFacts): readonly BudgetFacts[] {
    const { budgets } = this.#indexed();
    let keys = this.#covered.get(pod);
    if (keys === undefined) {
      keys = this.#selectors?.index.covering(pod).map(budgetKey) ?? [];
      this.#covered.set(pod, keys);
    }
    return keys.flatMap((key) => budgets.get(key) ?? []);
  }

  /** The world as it is now, for findings. */
  now(): Inventory {
    return {
      ...this.start,
      pods: [...this.#pods.items.values()],
      budgets: [...this.#budgets.items.values()],
    };
  }

  #indexed(): Indexed {
    if (this.#index === undefined) {
      const byNode = new Map<string, PodFacts[]>();
      for (const pod of this.#pods.items.values()) {
        if (pod.nodeName === null) continue;
        const there = byNode.get(pod.nodeName);
        if (there === undefined) byNode.set(pod.nodeName, [pod]);
        else there.push(pod);
      }
      const budgets = [...this.#budgets.items.values()];
      this.#followSelectors(budgets);
      this.#index = { byNode, budgets: new Map(budgets.map((budget) => [budgetKey(budget), budget])) };
    }
    return this.#index;
  }

  #followSelectors(budgets: readonly BudgetFacts[]): void {
    const fingerprint = budgets
      .map((budget) => `${budgetKey(budget)} ${JSON.stringify(budget.selector)}`)
      .join("\n");
    if (this.#selectors?.fingerprint === fingerprint) return;
    this.#selectors = { fingerprint, index: new BudgetIndex(budgets) };
    this.#covered = new WeakMap();
  }
}

export const budgetKey = ({ namespace, name }: BudgetFacts): string => `${namespace}/${name}`;
