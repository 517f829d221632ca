/**
 * One mutating command at a time on a cluster: a Lease in kube-system, as leader election uses it.
 * A run that was killed leaves its lease behind; the next one waits until it has expired, or takes it over at once when
 * the holder was a process of this machine that no longer lives.
 * Source of the rule: coordination.k8s.io/v1 Lease (holderIdentity, renewTime, leaseDurationSeconds); as in client-go's
 * leader election a lease has expired when it was not renewed for its duration by the watcher's own clock, since clocks of
 * two machines may differ.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { ApiError, type Api } from "./api.ts";
import { lives } from "./pid.ts";

const PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const NAME = "cluster-migration";
const DURATION_SECONDS = 30;
const RENEW_MS = 5_000;
/** A renewal so many durations ago is old by any clock: no need to watch it. */
const OLD_BY_ANY_CLOCK = 20;

/** What is read and written of a Lease; everything else on it goes back as it came. */
interface Lease {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly renewTime?: string;
  };
}

export interface Held {
  release(): Promise<void>;
}

export interface AcquireOptions {
  readonly what: string;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
  /** Called when another holder has taken the lease: the work must stop. */
  readonly lost: (reason: string) => void;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** Waits for the lease, takes it and renews it until released. */
export async function acquireLease(api: Api, options: AcquireOptions): Promise<Held> {
  const identity = `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}/${options.what}`;
  let told = false;
  const watched = { renewTime: "", since: performance.now() };
  for (;;) {
    options.signal.throwIfAborted();
    const current = await api.find<Lease>(`${PATH}/${NAME}`);
    const renewTime = current?.spec?.renewTime ?? "";
    if (renewTime !== watched.renewTime) Object.assign(watched, { renewTime, since: performance.now() });
    if (current === null || isFree(current, performance.now() - watched.since)) {
      if (await tryWrite(api, current, identity)) break;
    } else if (!told) {
      told = true;
      options.progress(
        `waiting: ${current.spec?.holderIdentity ?? "another run"} is at work on this cluster`,
      );
    }
    await options.wait(1_000);
  }
  const timer = setInterval(() => {
    void renew(api, identity).then(
      (mine) => {
        if (!mine) options.lost("another run took the lock of this cluster");
      },
      // The API is away for a moment while a control plane restarts; the lease outlives that, or another run takes it.
      () => undefined,
    );
  }, RENEW_MS);
  timer.unref();
  return {
    release: async () => {
      clearInterval(timer);
      const current = await api.find<Lease>(`${PATH}/${NAME}`);
      if (current?.spec?.holderIdentity === identity) {
        await put(api, {
          ...current,
          spec: { ...current.spec, holderIdentity: "", leaseDurationSeconds: 1 },
        });
      }
    },
  };
}

/** @param unchangedMs  how long its renewal was seen to stay the same */
function isFree(lease: Lease, unchangedMs: number): boolean {
  const holder = lease.spec?.holderIdentity ?? "";
  if (holder === "") return true;
  const duration = (lease.spec?.leaseDurationSeconds ?? DURATION_SECONDS) * 1_000;
  if (unchangedMs > duration) return true;
  const renewed = lease.spec?.renewTime === undefined ? 0 : new Date(lease.spec.renewTime).getTime();
  if (Date.now() > renewed + duration * OLD_BY_ANY_CLOCK) return true;
  const [host, pid] = holder.split("/");
  return host === hostname() && !lives(Number(pid));
}

async function tryWrite(api: Api, current: Lease | null, identity: string): Promise<boolean> {
  const now = microTime();
  const spec = {
    holderIdentity: identity,
    leaseDurationSeconds: DURATION_SECONDS,
    acquireTime: now,
    renewTime: now,
  };
  try {
    if (current === null) {
      await api.request(PATH, {
        method: "POST",
        body: {
          apiVersion: "coordination.k8s.io/v1",
          kind: "Lease",
          metadata: { name: NAME, namespace: "kube-system" },
          spec,
        },
      });
    } else {
      // Carries the resourceVersion that was read: only one of several takers wins.
      await api.request(`${PATH}/${NAME}`, { method: "PUT", body: { ...current, spec } });
    }
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) return false;
    throw error;
  }
}

async function renew(api: Api, identity: string): Promise<boolean> {
  const current = await api.find<Lease>(`${PATH}/${NAME}`);
  if (current?.spec?.holderIdentity !== identity) return false;
  await put(api, { ...current, spec: { ...current.spec, renewTime: microTime() } });
  return true;
}

async function put(api: Api, lease: Lease): Promise<void> {
  try {
    await api.request(`${PATH}/${NAME}`, { method: "PUT", body: lease });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
  }
}

/** MicroTime: RFC 3339 with exactly six digits of a second. */
const microTime = (): string => new Date().toISOString().replace("Z", "000Z");
