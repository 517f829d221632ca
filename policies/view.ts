/** The small view of a stack that rules judge. Filled from the engine by adapter.ts, or by hand in tests. */
import type { SecretPaths } from "./secrets.ts";

export interface ResourceView {
  readonly urn: string;
  readonly type: string;
  readonly name: string;
  /** Has a provider: neither a component nor a provider itself. */
  readonly custom: boolean;
  /** May throw where a value is not known: read it through reading.ts only. */
  readonly props: Readonly<Record<string, unknown>>;
  readonly opts: {
    readonly protect: boolean;
    readonly ignoreChanges: readonly string[];
    readonly deleteBeforeReplace: boolean;
    readonly additionalSecretOutputs: readonly string[];
  };
  /** URN of the parent; null at the root, and where the engine tells none. */
  readonly parent: string | null;
  /** URNs. */
  readonly dependencies: readonly string[];
  /** Input property to URNs. */
  readonly propertyDependencies: Readonly<Record<string, readonly string[]>>;
  /** Which inputs are secret; null where the engine did not tell. */
  readonly secrets: SecretPaths | null;
}

export class StackView {
  readonly resources: readonly ResourceView[];
  readonly #byUrn: ReadonlyMap<string, ResourceView>;
  readonly #reached = new Map<string, ReadonlySet<string>>();

  constructor(resources: readonly ResourceView[]) {
    this.resources = resources;
    this.#byUrn = new Map(resources.map((one) => [one.urn, one]));
  }

  ofType(type: string): readonly ResourceView[] {
    return this.resources.filter((one) => one.type === type);
  }

  childrenOf(one: ResourceView): readonly ResourceView[] {
    return this.resources.filter((child) => child.parent === one.urn);
  }

  /** Does `one` come after `other`? */
  after(one: ResourceView, other: ResourceView): boolean {
    return this.#closure(one).has(other.urn);
  }

  /**
   * Everything that is done before a resource is begun. A child waits for its parent's registration, and that for what the
   * parent depends on; so the parents' dependencies are the child's too. A parent itself does nothing.
   */
  #closure(one: ResourceView): ReadonlySet<string> {
    const known = this.#reached.get(one.urn);
    if (known !== undefined) return known;
    const reached = new Set<string>();
    const walk: ResourceView[] = [one];
    const visited = new Set<string>([one.urn]);
    for (let next = walk.pop(); next !== undefined; next = walk.pop()) {
      const before = [...next.dependencies, ...Object.values(next.propertyDependencies).flat()];
      for (const urn of before) reached.add(urn);
      for (const urn of next.parent === null ? before : [...before, next.parent]) {
        const found = this.#byUrn.get(urn);
        if (found === undefined || visited.has(urn)) continue;
        visited.add(urn);
        walk.push(found);
      }
    }
    this.#reached.set(one.urn, reached);
    return reached;
  }
}
