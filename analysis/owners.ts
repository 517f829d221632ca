/** Who owns a pod for good: the workload that would make its replacement. */

import type { PodFacts, WorkloadFacts } from "./inventory.ts";

export interface TopOwner {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Desired pods; null where the kind has no such number or the workload was not read. */
  readonly replicas: number | null;
  /** False when the inventory has no such workload. */
  readonly known: boolean;
}

export class Owners {
  readonly #byUid = new Map<string, WorkloadFacts>();
  readonly #byName = new Map<string, WorkloadFacts>();

  constructor(workloads: readonly WorkloadFacts[]) {
    for (const workload of workloads) {
      if (workload.uid !== "") this.#byUid.set(workload.uid, workload);
      this.#byName.set(keyOf(workload), workload);
    }
  }

  /** Null for a pod without a controller. */
  topOf(pod: PodFacts): TopOwner | null {
    const { controller, namespace } = pod;
    if (controller === null) return null;
    let found = this.#find(namespace, controller.kind, controller.name, controller.uid);
    if (found === undefined && controller.kind === "ReplicaSet") {
      // A Deployment names its ReplicaSets after itself and the hash of the template.
      found = this.#find(namespace, "Deployment", controller.name.replace(/-[^-]+$/, ""), "");
    }
    if (found === undefined) {
      return { kind: controller.kind, namespace, name: controller.name, replicas: null, known: false };
    }
    const above = found.controller;
    const top = above === null ? undefined : this.#find(namespace, above.kind, above.name, above.uid);
    const { kind, name, replicas } = top ?? found;
    return { kind, namespace, name, replicas, known: true };
  }

  has(namespace: string, kind: string, name: string): boolean {
    return this.#byName.has(keyOf({ namespace, kind, name }));
  }

  #find(namespace: string, kind: string, name: string, uid: string): WorkloadFacts | undefined {
    return this.#byUid.get(uid) ?? this.#byName.get(keyOf({ namespace, kind, name }));
  }
}

const keyOf = ({ namespace, kind, name }: { namespace: string; kind: string; name: string }): string =>
  `${namespace}/${kind}/${name}`;

/** `Deployment web`; `pod debug` for one that nobody owns. */
export const ownerText = (owner: TopOwner | null, pod: PodFacts): string =>
  owner === null ? `pod ${pod.name}` : `${owner.kind} ${owner.name}`;
