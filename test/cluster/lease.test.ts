import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { acquireLease, type Held } from "../../cluster/lease.ts";
import { failure, FakeServer, ok, unknown, withCertificates, type Asked } from "./fake-server.ts";

withCertificates();

const COLLECTION = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const PATH = `${COLLECTION}/cluster-migration`;

interface Lease {
  metadata: { resourceVersion: string; labels?: Record<string, string> };
  spec: { holderIdentity: string; leaseDurationSeconds: number; renewTime: string; acquireTime?: string };
}

/** One lease, with the API server's optimistic locking. */
class LeaseServer {
  lease: Lease | null;
  #version = 1;

  constructor(lease: Lease | null = null) {
    this.lease = lease;
  }

  start(): Promise<FakeServer> {
    return FakeServer.start((asked) => this.#answer(asked));
  }

  #answer(asked: Asked) {
    if (asked.method === "GET" && asked.path === PATH)
      return this.lease === null ? failure(404, "NotFound", "not found") : ok(this.lease);
    const sent = asked.body as Lease;
    if (asked.method === "POST" && asked.path === COLLECTION) {
      if (this.lease !== null) return failure(409, "AlreadyExists", "already exists");
    } else if (asked.method === "PUT" && asked.path === PATH) {
      if (this.lease?.metadata.resourceVersion !== sent.metadata.resourceVersion)
        return failure(409, "Conflict", "the object has been modified");
    } else unknown(asked);
    this.#version += 1;
    this.lease = { ...sent, metadata: { ...sent.metadata, resourceVersion: String(this.#version) } };
    return ok(this.lease);
  }
}

const now = (): string => new Date().toISOString().replace("Z", "000Z");

const heldBy = (holder: string, more: Partial<Lease["spec"]> = {}): Lease => ({
  metadata: { resourceVersion: "1" },
  spec: { holderIdentity: holder, leaseDurationSeconds: 30, renewTime: now(), ...more },
});

function take(fake: FakeServer, more: { signal?: AbortSignal; what?: string } = {}) {
  const progress: string[] = [];
  const lost: string[] = [];
  const held = acquireLease(fake.api, {
    what: more.what ?? "o/p/s@drain",
    progress: (line) => progress.push(line),
    signal: more.signal ?? new AbortController().signal,
    lost: (reason) => lost.push(reason),
    wait: () => sleep(20),
  });
  return { held, progress, lost };
}

async function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | "waits"> {
  return await Promise.race([promise, sleep(milliseconds, "waits" as const)]);
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    if (tries > 200) throw new Error("never came true");
    await sleep(10);
  }
}

const deadPid = (): number => spawnSync("true").pid;

describe.concurrent("the lock of a cluster", () => {
  it("is taken where there is none, says by whom, and is given back", async () => {
    const server = new LeaseServer();
    const fake = await server.start();
    const held = await take(fake).held;
    expect(server.lease?.spec.holderIdentity).toMatch(
      new RegExp(`^${hostname()}/${process.pid}/[0-9a-f]{8}/o/p/s@drain$`),
    );
    // MicroTime has exactly six digits of a second.
    expect(server.lease?.spec.renewTime).toMatch(/\.\d{6}Z$/);
    await held.release();
    expect(server.lease?.spec.holderIdentity).toBe("");
  });

  it("is taken where somebody gave it back, and keeps what others wrote on it", async () => {
    const lease = heldBy("", {});
    const server = new LeaseServer({ ...lease, metadata: { resourceVersion: "1", labels: { a: "b" } } });
    const held = await take(await server.start()).held;
    expect(server.lease?.metadata.labels).toEqual({ a: "b" });
    await held.release();
  });

  it("is waited for while a process that lives holds it, which is told once", async () => {
    const holder = `${hostname()}/${process.pid}/00000000/o/p/other@drain`;
    const server = new LeaseServer(heldBy(holder));
    const fake = await server.start();
    const { held, progress } = take(fake);
    expect(await within(held, 200)).toBe("waits");
    expect(progress).toEqual([`waiting: ${holder} is at work on this cluster`]);
    expect(fake.lines("PUT")).toEqual([]);
    server.lease = heldBy("");
    await (await held).release();
  });

  it("is taken over at once from a process of this machine that is dead", async () => {
    const server = new LeaseServer(heldBy(`${hostname()}/${deadPid()}/00000000/x`));
    await (await take(await server.start()).held).release();
  });

  it("is not taken from a process of another machine, whatever lives here", async () => {
    const server = new LeaseServer(heldBy(`elsewhere/${deadPid()}/00000000/x`));
    const { held } = take(await server.start());
    expect(await within(held, 200)).toBe("waits");
    server.lease = heldBy("");
    await (await held).release();
  });

  it("is taken when it was not renewed for its duration, by one's own clock", async () => {
    const server = new LeaseServer(heldBy("elsewhere/1/0/x", { leaseDurationSeconds: 0.3 }));
    const before = performance.now();
    await (await take(await server.start()).held).release();
    expect(performance.now() - before).toBeGreaterThanOrEqual(300);
  });

  it("is not taken from a holder whose clock is behind and who renews it", async () => {
    const behind = (): string => new Date(Date.now() - 60_000).toISOString().replace("Z", "000Z");
    const lease = (): Lease => heldBy("elsewhere/1/0/x", { renewTime: behind() });
    const server = new LeaseServer(lease());
    const { held } = take(await server.start());
    const renewing = setInterval(() => {
      server.lease = lease();
    }, 10);
    const result = await within(held, 300);
    clearInterval(renewing);
    expect(result).toBe("waits");
    server.lease = heldBy("");
    await (await held).release();
  });

  it("is taken at once when its renewal is old by any clock", async () => {
    const server = new LeaseServer(heldBy("elsewhere/1/0/x", { renewTime: "2020-01-01T00:00:00.000000Z" }));
    const before = performance.now();
    await (await take(await server.start()).held).release();
    expect(performance.now() - before).toBeLessThan(10_000);
  });

  it.each([
    ["that is not there", null],
    ["that was given back", heldBy("")],
  ])("goes to exactly one of five that want one %s", async (_, lease) => {
    const server = new LeaseServer(lease);
    const fake = await server.start();
    const stop = new AbortController();
    const takers = Array.from({ length: 5 }, (__, index) =>
      take(fake, { what: `taker-${index}`, signal: stop.signal }).held.catch(() => null),
    );
    await Promise.race(takers);
    await sleep(200);
    const settled = await Promise.all(takers.map((taker) => within<Held | null>(taker, 0)));
    const winners = settled.filter((one) => one !== "waits");
    expect(winners).toHaveLength(1);
    stop.abort(new Error("enough"));
    await Promise.all(takers);
    const [winner] = winners;
    if (winner !== undefined && winner !== null) await winner.release();
  });

  it("stops waiting when it is told to", async () => {
    const server = new LeaseServer(heldBy(`elsewhere/1/0/x`));
    const stop = new AbortController();
    const { held } = take(await server.start(), { signal: stop.signal });
    stop.abort(new Error("stopped by SIGTERM"));
    await expect(held).rejects.toThrow("stopped by SIGTERM");
  });

  it("does not give back what another has taken meanwhile", async () => {
    const server = new LeaseServer();
    const held = await take(await server.start()).held;
    const other = heldBy("elsewhere/1/0/other");
    server.lease = other;
    await held.release();
    expect(server.lease).toBe(other);
  });
});

describe("a lock that is held", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  async function holding() {
    const server = new LeaseServer();
    const fake = await server.start();
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const { held, lost } = take(fake);
    return { server, fake, lost, held: await held };
  }

  it("is renewed every few seconds, until it is given back", async () => {
    const { server, fake, lost, held } = await holding();
    const first = server.lease?.spec.renewTime;
    vi.advanceTimersByTime(5_000);
    await until(() => server.lease?.spec.renewTime !== first);
    await held.release();
    const asked = fake.asked.length;
    vi.advanceTimersByTime(60_000);
    await sleep(20);
    expect(fake.asked.length).toBe(asked);
    expect(lost).toEqual([]);
  });

  it("is lost when another run takes it: the work is told to stop", async () => {
    const { server, lost, held } = await holding();
    server.lease = heldBy("elsewhere/1/0/other");
    vi.advanceTimersByTime(5_000);
    await until(() => lost.length > 0);
    expect(lost).toEqual(["another run took the lock of this cluster"]);
    await held.release();
  });

  it("outlives an API server that is away for a moment", async () => {
    const { server, fake, lost, held } = await holding();
    fake.away = true;
    vi.advanceTimersByTime(5_000);
    await sleep(50);
    fake.away = false;
    const first = server.lease?.spec.renewTime;
    vi.advanceTimersByTime(5_000);
    await until(() => server.lease?.spec.renewTime !== first);
    expect(lost).toEqual([]);
    await held.release();
  });
});
