/**
 * The field of the drain bench: a lab with two pools of nodes and, on one of them, Deployments under budgets. A drain
 * empties one pool onto the other; then the pools change places, so that every run finds the same cluster.
 */
import type { V1Deployment, V1PodDisruptionBudget } from "@kubernetes/client-node";
import { cordon, uncordon } from "../../cluster/actions.ts";
import type { Api } from "../../cluster/api.ts";
import { openCluster } from "../../cluster/connect.ts";
import { startLab, type Lab } from "../../lab/cluster/index.ts";
import { layoutOf, logOf } from "../../lab/cluster/layout.ts";
import { MAX_UNAVAILABLE, READY_SECONDS, REPLICAS, TERMINATION_SECONDS } from "../shape.ts";

export type Pool = "a" | "b";
export const POOL_LABEL = "bench.cluster-migration/pool";

export interface FieldOptions {
  readonly name: string;
  readonly dir: string;
  /** Nodes in each of the two pools. */
  readonly nodes: number;
  readonly pods: number;
  readonly signal: AbortSignal;
  readonly progress: (line: string) => void;
}

/** As clusters of many teams are: the eviction API and the disruption controller look through a pod's whole namespace. */
const DEPLOYMENTS_PER_NAMESPACE = 5;
/** Renewing the leases of hundreds of silent nodes every few seconds would be most of what the lab does. */
const NODE_GRACE_SECONDS = 600;
const NAMESPACE_PREFIX = "bench-";
const AT_ONCE = 16;

export class Field {
  readonly lab: Lab;
  readonly auditLog: string;
  readonly #api: Api;
  readonly #options: FieldOptions;

  private constructor(options: FieldOptions, lab: Lab) {
    this.#options = options;
    this.lab = lab;
    this.#api = openCluster(lab);
    this.auditLog = logOf(layoutOf(lab.dir), "audit");
  }

  /** All pods Ready on pool `a`, pool `b` empty and open. Nothing is left running when it fails. */
  static async open(options: FieldOptions): Promise<Field> {
    const { name, dir, nodes, progress, signal } = options;
    const pool = (which: Pool): { name: string; zone: string; labels: Record<string, string> }[] =>
      poolNodes(which, nodes).map((node, index) => ({
        name: node,
        zone: "abc"[index % 3] ?? "a",
        labels: { [POOL_LABEL]: which },
      }));
    const lab = await startLab(
      {
        name: `bench-${name}`,
        nodes: [
          {
            name: "control-plane",
            zone: "a",
            controlPlane: true,
            taints: [{ key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" }],
          },
          ...pool("a"),
          ...pool("b"),
        ],
        podReadySeconds: [...READY_SECONDS],
        podTerminationSeconds: [...TERMINATION_SECONDS],
        nodeMonitorGraceSeconds: NODE_GRACE_SECONDS,
      },
      { dir, progress, signal },
    );
    const field = new Field(options, lab);
    try {
      await field.#populate();
      return field;
    } catch (error) {
      await field.close();
      throw error;
    }
  }

  nodesOf(pool: Pool): string[] {
    return poolNodes(pool, this.#options.nodes);
  }

  /** All pods Ready, every budget open to its full width. */
  async settled(): Promise<void> {
    for (;;) {
      this.#options.signal.throwIfAborted();
      const [deployments, budgets] = await Promise.all([
        this.#api.list<V1Deployment>("/apis/apps/v1/deployments"),
        this.#api.list<V1PodDisruptionBudget>("/apis/policy/v1/poddisruptionbudgets"),
      ]);
      const ready = deployments.items.every(
        ({ status }) => status?.readyReplicas === REPLICAS && status.replicas === REPLICAS,
      );
      const open = budgets.items.every(({ status }) => status?.currentHealthy === REPLICAS);
      if (ready && open) return;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }

  /** Opens a pool that was drained. */
  async reopen(pool: Pool): Promise<void> {
    await inTurns(this.nodesOf(pool), (node) => uncordon(this.#api, node));
    await this.settled();
  }

  async close(): Promise<void> {
    await this.lab.stop();
  }

  async #populate(): Promise<void> {
    const { pods, progress } = this.#options;
    const names = Array.from({ length: pods / REPLICAS }, (_, index) => ({
      name: `app-${index}`,
      namespace: `${NAMESPACE_PREFIX}${Math.floor(index / DEPLOYMENTS_PER_NAMESPACE)}`,
    }));
    // So that the first pods are all on the other pool, as after every later drain.
    await inTurns(this.nodesOf("b"), (node) => cordon(this.#api, node, "bench"));
    await inTurns([...new Set(names.map(({ namespace }) => namespace))], (name) =>
      this.#post("/api/v1/namespaces", { metadata: { name } }),
    );
    await inTurns(names, async ({ name, namespace }) => {
      await this.#post(`/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`, {
        metadata: { name },
        spec: { maxUnavailable: MAX_UNAVAILABLE, selector: { matchLabels: { app: name } } },
      });
      await this.#post(`/apis/apps/v1/namespaces/${namespace}/deployments`, {
        metadata: { name },
        spec: {
          replicas: REPLICAS,
          selector: { matchLabels: { app: name } },
          template: {
            metadata: { labels: { app: name } },
            spec: { containers: [{ name: "app", image: "registry.k8s.io/pause:3.10" }] },
          },
        },
      });
    });
    await this.settled();
    await this.reopen("b");
    progress(`${names.length * REPLICAS} pods Ready on ${this.#options.nodes} nodes, as many nodes empty`);
  }

  async #post(at: string, body: unknown): Promise<void> {
    await this.#api.request(at, { method: "POST", body });
  }
}

const poolNodes = (pool: Pool, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${pool}-${index}`);

async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
    }),
  );
}
