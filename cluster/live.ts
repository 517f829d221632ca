/** A collection kept true by list and watch, as informers do: relisted when a watch ends in error, for as long as needed. */
import { ApiError, UnreachableError, type Api } from "./api.ts";

interface Metadata {
  readonly metadata?: { readonly uid?: string };
}

export class LiveCollection<Facts> {
  /** By UID. */
  readonly items = new Map<string, Facts>();
  readonly #listeners = new Set<() => void>();

  /** Resolves when the first list is in. Goes on until `signal` fires. */
  static async start<Wire extends Metadata, Facts>(
    api: Api,
    path: string,
    toFacts: (wire: Wire) => Facts,
    signal: AbortSignal,
  ): Promise<LiveCollection<Facts>> {
    const live = new LiveCollection<Facts>();
    const version = await live.#relist(api, path, toFacts);
    void live.#follow(api, path, toFacts, version, signal);
    return live;
  }

  onChange(listener: () => void): void {
    this.#listeners.add(listener);
  }

  async #relist<Wire extends Metadata>(
    api: Api,
    path: string,
    toFacts: (wire: Wire) => Facts,
  ): Promise<string> {
    const { items, resourceVersion } = await api.list<Wire>(path);
    this.items.clear();
    for (const item of items) this.items.set(item.metadata?.uid ?? "", toFacts(item));
    this.#tell();
    return resourceVersion;
  }

  async #follow<Wire extends Metadata>(
    api: Api,
    path: string,
    toFacts: (wire: Wire) => Facts,
    from: string,
    signal: AbortSignal,
  ): Promise<void> {
    let version = from;
    const ended = (): boolean => signal.aborted;
    while (!ended()) {
      try {
        for await (const event of api.watch<Wire & { metadata?: { resourceVersion?: string } }>(
          path,
          version,
          signal,
        )) {
          const uid = event.object.metadata?.uid ?? "";
          if (event.type === "DELETED") this.items.delete(uid);
          else this.items.set(uid, toFacts(event.object));
          version = event.object.metadata?.resourceVersion ?? version;
          this.#tell();
        }
      } catch (error) {
        if (ended()) return;
        // 410 Gone: the version is too old. Everything else: the API is away, or the connection broke. Start from a list.
        if (!(error instanceof ApiError) || error.status !== 410) await sleep(1_000);
        version = await this.#relist(api, path, toFacts).catch((again: unknown) => {
          if (again instanceof UnreachableError || again instanceof ApiError) return version;
          throw again;
        });
      }
    }
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

const sleep = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds));
