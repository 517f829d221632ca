/**
 * A small cluster in memory behind a real HTTPS server: objects, watches with a history, and the eviction API with the
 * disruption controller and a workload controller behind it, which make and end pods after a few milliseconds.
 */
import type { ServerResponse } from "node:http";
import { afterwards } from "./cleanup.ts";
import { covers, isReady, keyOf, type Wire, type WireBudget, type WireNode, type WirePod } from "./wire.ts";
import { failure, FakeServer, ok, unknown, type Answer, type Asked } from "./fake-server.ts";

interface Event {
  readonly version: number;
  readonly collection: string;
  readonly line: string;
}

export const NODES = "/api/v1/nodes";
export const PODS = "/api/v1/pods";
export const BUDGETS = "/apis/policy/v1/poddisruptionbudgets";
const WORKLOADS = ["deployments", "statefulsets", "replicasets", "daemonsets"].map(
  (kind) => `/apis/apps/v1/${kind}`,
);
const COLLECTIONS = [
  "/api/v1/namespaces",
  NODES,
  PODS,
  BUDGETS,
  ...WORKLOADS,
  "/api/v1/replicationcontrollers",
];
const REPLICA_SETS = "/apis/apps/v1/replicasets";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

export interface Timing {
  /** From an eviction until the pod is gone. */
  readonly endMs: number;
  /** From then until its substitute is Ready; never, when null. */
  readonly readyMs: number | null;
}

export class FakeCluster {
  uid = "cluster-uid";
  version = "v1.34.4";
  timing: Timing = { endMs: 20, readyMs: 20 };
  /** Answers an eviction in the place of the eviction API; undefined: the usual answer. */
  onEviction: (pod: WirePod) => Answer | undefined = () => undefined;
  /** Sees each request first. */
  onRequest: (asked: Asked) => Answer | undefined = () => undefined;
  readonly #objects = new Map<string, Map<string, Wire>>(COLLECTIONS.map((path) => [path, new Map()]));
  readonly #watches = new Map<ServerResponse, string>();
  readonly #history: Event[] = [];
  readonly #held: Event[] = [];
  #silent = false;
  readonly #timers = new Set<NodeJS.Timeout>();
  #now = 100;
  /** Events up to this version are forgotten: who asks for them is told 410. */
  #forgotten = 0;
  #made = 0;
  server!: FakeServer;
  lease: Wire | null = null;

  static async start(): Promise<FakeCluster> {
    const cluster = new FakeCluster();
    cluster.put("/api/v1/namespaces", { metadata: { name: "kube-system" } });
    cluster.server = await FakeServer.start((asked, response) => cluster.#answer(asked, response));
    afterwards(() => {
      for (const timer of cluster.#timers) clearTimeout(timer);
    });
    return cluster;
  }

  get silent(): boolean {
    return this.#silent;
  }

  /** While true watches hear nothing; what happened meanwhile is sent afterwards. */
  set silent(value: boolean) {
    this.#silent = value;
    if (!value) for (const { collection, line } of this.#held.splice(0)) this.#send(collection, line);
  }

  all<T extends Wire>(collection: string): T[] {
    return [...this.#of(collection).values()] as T[];
  }

  find<T extends Wire>(collection: string, name: string): T | undefined {
    return this.all<T>(collection).find((one) => one.metadata?.name === name);
  }

  put(collection: string, object: Wire): void {
    this.#now += 1;
    const key = keyOf(object);
    const known = this.#of(collection).has(key);
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#now) } };
    this.#of(collection).set(key, stored);
    this.#tell(collection, known ? "MODIFIED" : "ADDED", stored);
    if (collection === PODS) this.#count();
  }

  remove(collection: string, object: Wire): void {
    this.#now += 1;
    if (!this.#of(collection).delete(keyOf(object))) return;
    this.#tell(collection, "DELETED", {
      ...object,
      metadata: { ...object.metadata, resourceVersion: String(this.#now) },
    });
    if (collection === PODS) this.#count();
  }

  node(name: string, more: WireNode = {}): void {
    this.put(NODES, {
      metadata: { name, uid: `uid-${name}` },
      status: {
        nodeInfo: { kubeletVersion: this.version },
        conditions: [{ type: "Ready", status: "True" }],
      },
      ...more,
    });
  }

  pod(
    name: string,
    node: string,
    more: { ready?: boolean; app?: string; owner?: boolean; uid?: string } = {},
  ): WirePod {
    const { ready = true, app = "web", owner = true } = more;
    const pod = {
      metadata: {
        namespace: "shop",
        name,
        uid: more.uid ?? `uid-${name}`,
        labels: { app },
        ...(owner
          ? {
              ownerReferences: [
                {
                  apiVersion: "apps/v1",
                  kind: "ReplicaSet",
                  name: `${app}-rs`,
                  uid: `uid-${app}-rs`,
                  controller: true,
                },
              ],
            }
          : {}),
      },
      spec: { nodeName: node, containers: [] },
      status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
    };
    this.put(PODS, pod);
    return pod;
  }

  /** `replicas` pods on these nodes in turn, and a budget over them unless it is null. */
  workload(app: string, replicas: number, nodes: readonly string[], minAvailable: number | null): void {
    this.put(REPLICA_SETS, {
      metadata: { namespace: "shop", name: `${app}-rs`, uid: `uid-${app}-rs` },
      spec: { replicas, template: { metadata: { labels: { app } } } },
      status: { readyReplicas: replicas },
    });
    for (let index = 0; index < replicas; index += 1)
      this.pod(`${app}-${index}`, nodes[index % nodes.length] ?? "", { app });
    if (minAvailable !== null) this.budget(app, { minAvailable });
  }

  budget(app: string, spec: WireBudget["spec"]): void {
    this.put(BUDGETS, {
      metadata: { namespace: "shop", name: `${app}-pdb`, uid: `uid-${app}-pdb` },
      spec: { selector: { matchLabels: { app } }, ...spec },
      status: {},
    });
    this.#countBudgets();
  }

  /** What was evicted, by name, in the order in which it was accepted. */
  readonly evicted: string[] = [];

  evictionRequests(): string[] {
    return this.server.asked
      .filter((one) => one.path.endsWith("/eviction"))
      .map((one) => one.path.split("/").at(-2) ?? "");
  }

  cordoned(): string[] {
    return this.all<WireNode>(NODES)
      .filter((node) => node.spec?.unschedulable === true)
      .map((node) => node.metadata?.name ?? "");
  }

  /** Watches from before this moment are told 410 Gone. */
  forget(): void {
    this.#forgotten = this.#now;
  }

  /** Ends all watches with an ERROR event of code 410, as after a compaction. */
  expireWatches(): void {
    this.forget();
    for (const response of this.#watches.keys()) {
      this.#watches.delete(response);
      response.end(`${JSON.stringify({ type: "ERROR", object: failure(410, "Expired", "too old").body })}\n`);
    }
  }

  after(milliseconds: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, milliseconds);
    this.#timers.add(timer);
  }

  #of(collection: string): Map<string, Wire> {
    const found = this.#objects.get(collection);
    if (found === undefined) throw new Error(`no collection ${collection}`);
    return found;
  }

  #tell(collection: string, type: string, object: Wire): void {
    const line = `${JSON.stringify({ type, object })}\n`;
    this.#history.push({ version: this.#now, collection, line });
    if (this.silent) this.#held.push({ version: this.#now, collection, line });
    else this.#send(collection, line);
  }

  #send(collection: string, line: string): void {
    for (const [response, path] of this.#watches) if (path === collection) response.write(line);
  }

  #answer(asked: Asked, response: ServerResponse): Answer | undefined {
    const early = this.onRequest(asked);
    if (early !== undefined) return early;
    const { method, path } = asked;
    if (method === "GET") return this.#read(asked, response);
    const node = /^\/api\/v1\/nodes\/([^/]+)$/.exec(path)?.[1];
    if (method === "PATCH" && node !== undefined) return this.#patchNode(node, asked);
    const pod = /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/eviction$/.exec(path);
    if (method === "POST" && pod !== null) return this.#evict(pod[1] ?? "", pod[2] ?? "", asked);
    if (path.startsWith(LEASES)) {
      this.lease = { ...(asked.body as Wire), metadata: { resourceVersion: String(++this.#now) } };
      return ok(this.lease);
    }
    return unknown(asked);
  }

  #read(asked: Asked, response: ServerResponse): Answer | undefined {
    const { path, query } = asked;
    if (path === "/version") return ok({ gitVersion: this.version });
    if (path === "/readyz") return ok("ok");
    if (path === "/api/v1/namespaces/kube-system") return ok({ metadata: { uid: this.uid } });
    if (path.startsWith(LEASES))
      return this.lease === null ? failure(404, "NotFound", "no lease") : ok(this.lease);
    const table = asked.headers.accept?.includes("as=Table") === true;
    const collection = path.replace(/^\/api\/v1\/namespaces\/[^/]+\/pods$/, PODS);
    if (table) return ok(this.#table(collection));
    if (this.#objects.has(path)) {
      if (query.get("watch") === "true")
        return this.#watch(path, Number(query.get("resourceVersion")), response);
      return ok({ metadata: { resourceVersion: String(this.#now) }, items: this.all(path) });
    }
    const slash = path.lastIndexOf("/");
    if (path.slice(0, slash) !== NODES) return unknown(asked);
    const found = this.find(NODES, path.slice(slash + 1));
    return found === undefined ? failure(404, "NotFound", `${path} not found`) : ok(found);
  }

  #watch(collection: string, from: number, response: ServerResponse): Answer | undefined {
    if (from < this.#forgotten) return failure(410, "Expired", "too old resource version");
    response.writeHead(200);
    response.flushHeaders();
    for (const event of this.#history)
      if (event.collection === collection && event.version > from) response.write(event.line);
    this.#watches.set(response, collection);
    response.on("close", () => this.#watches.delete(response));
    return undefined;
  }

  #table(collection: string) {
    const columns = collection === NODES ? ["Name", "Status"] : ["Name", "Node"];
    const rows = this.all<WireNode & WirePod>(collection).map((one) => [
      one.metadata?.name,
      collection === NODES
        ? one.spec?.unschedulable === true
          ? "Ready,SchedulingDisabled"
          : "Ready"
        : one.spec?.nodeName,
    ]);
    return {
      columnDefinitions: columns.map((name) => ({ name, priority: 0 })),
      rows: rows.map((cells) => ({ cells })),
    };
  }

  #patchNode(name: string, asked: Asked): Answer {
    const node = this.find<WireNode>(NODES, name);
    if (node === undefined) return failure(404, "NotFound", `nodes "${name}" not found`);
    const patch = asked.body as { metadata?: { annotations?: Record<string, string | null> }; spec?: object };
    const annotations = Object.entries({ ...node.metadata?.annotations, ...patch.metadata?.annotations });
    const spec = Object.entries<unknown>({ ...node.spec, ...patch.spec });
    const kept = <T>(entries: readonly [string, T | null][]): Record<string, T> =>
      Object.fromEntries(entries.filter((entry): entry is [string, T] => entry[1] !== null));
    this.put(NODES, {
      ...node,
      metadata: { ...node.metadata, annotations: kept(annotations) },
      spec: kept(spec),
    });
    return ok(this.find(NODES, name));
  }

  #evict(namespace: string, name: string, asked: Asked): Answer {
    const pod = this.all<WirePod>(PODS).find(
      (one) => one.metadata?.namespace === namespace && one.metadata.name === name,
    );
    if (pod === undefined) return failure(404, "NotFound", `pods "${name}" not found`);
    const uid = (asked.body as { deleteOptions?: { preconditions?: { uid?: string } } }).deleteOptions
      ?.preconditions?.uid;
    if (uid !== undefined && uid !== pod.metadata?.uid)
      return failure(409, "Conflict", `the UID in the precondition (${uid}) does not match`);
    const own = this.onEviction(pod);
    if (own !== undefined) return own;
    const budgets = this.all<WireBudget>(BUDGETS).filter((one) => covers(one, pod));
    if (budgets.length > 1)
      return failure(500, "InternalError", "This pod has more than one PodDisruptionBudget");
    const [budget] = budgets;
    if (budget !== undefined && isReady(pod) && (budget.status?.disruptionsAllowed ?? 0) <= 0)
      return failure(
        429,
        "TooManyRequests",
        "Cannot evict pod as it would violate the pod's disruption budget.",
      );
    this.evicted.push(name);
    this.#end(pod);
    return { status: 201, body: { kind: "Status", status: "Success" } };
  }

  /** Ends a pod: Terminating at once, gone later, and a substitute on another node. */
  #end(pod: WirePod): void {
    this.put(PODS, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date().toISOString() } });
    this.after(this.timing.endMs, () => {
      this.remove(PODS, pod);
      const app = pod.metadata?.labels?.["app"] ?? "";
      if (this.timing.readyMs === null || pod.metadata?.ownerReferences === undefined) return;
      this.after(this.timing.readyMs, () => {
        const open = this.all<WireNode>(NODES).findLast((node) => node.spec?.unschedulable !== true);
        this.#made += 1;
        this.pod(`${app}-new-${this.#made}`, open?.metadata?.name ?? "", { app });
      });
    });
  }

  #count(): void {
    this.#countBudgets();
    this.#countReplicas();
  }

  /** The ReplicaSet controller's count: Ready, and not ending. */
  #countReplicas(): void {
    for (const set of this.all(REPLICA_SETS)) {
      const ready = this.all<WirePod>(PODS).filter(
        (pod) =>
          isReady(pod) &&
          pod.metadata?.deletionTimestamp === undefined &&
          `${pod.metadata?.labels?.["app"] ?? ""}-rs` === set.metadata?.name,
      );
      this.put(REPLICA_SETS, { ...set, status: { readyReplicas: ready.length } });
    }
  }

  /** The disruption controller. */
  #countBudgets(): void {
    for (const budget of this.all<WireBudget>(BUDGETS)) {
      const pods = this.all<WirePod>(PODS).filter((pod) => covers(budget, pod));
      const healthy = pods.filter(
        (pod) => isReady(pod) && pod.metadata?.deletionTimestamp === undefined,
      ).length;
      const wanted = budget.spec?.minAvailable ?? 0;
      this.put(BUDGETS, {
        ...budget,
        status: {
          expectedPods: pods.length,
          currentHealthy: healthy,
          desiredHealthy: wanted,
          disruptionsAllowed: Math.max(0, healthy - wanted),
        },
      });
    }
  }
}
