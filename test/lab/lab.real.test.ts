import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { text, type Api, type Json } from "../../lab/cluster/api.ts";
import { isAlive } from "../../lab/cluster/identity.ts";
import { startLab, stopLab, type Lab } from "../../lab/cluster/index.ts";
import { COMPONENTS, layoutOf } from "../../lab/cluster/layout.ts";
import { pickPorts, type Ports } from "../../lab/cluster/ports.ts";
import { processOf, recordedProcesses } from "../../lab/cluster/process.ts";
import { requireState } from "../../lab/cluster/state.ts";
import {
  canListen,
  connect,
  deployWeb,
  labCommand,
  living,
  MINUTE,
  readyWebPods,
  until,
  webPods,
} from "./support.ts";

let base: string;
const dirOf = (name: string): string => join(base, name);

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "lab-real-"));
});

afterAll(async () => {
  for (const name of ["main", "second", "killed", "ports"]) await stopLab(dirOf(name));
  await rm(base, { recursive: true, force: true });
}, MINUTE);

describe("a lab", () => {
  let lab: Lab;
  let api: Api;
  const evict = async (pod: Json | undefined): Promise<number> => {
    const name = text(pod, "metadata", "name") ?? "";
    const path = `/api/v1/namespaces/default/pods/${name}/eviction`;
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: { name, namespace: "default" } };
    try {
      await api.post(path, body);
      return 201;
    } catch (error) {
      return (error as { status: number }).status;
    }
  };

  beforeAll(async () => {
    const began = Date.now();
    lab = await startLab({ name: "main" }, { dir: dirOf("main") });
    api = await connect(lab);
    // Ready in 15 s is the promise; this machine may be building something at the same time.
    expect(Date.now() - began).toBeLessThan(30_000);
  }, 5 * MINUTE);

  afterAll(() => {
    api.close();
  });

  it("is ready: five healthy processes, three Ready nodes of the server's own version", async () => {
    const status = await lab.status();
    expect(status.healthy).toBe(true);
    expect(status.processes.map((each) => each.name)).toEqual([...COMPONENTS]);
    expect(status.nodes.map((each) => [each.name, each.ready, each.schedulable])).toEqual(
      [0, 1, 2].map((index) => [`lab-node-${index}`, "True", true]),
    );
    expect(lab.versions.kubernetes).toMatch(/^v1\.34\./u);
    expect(new Set(status.nodes.map((each) => each.kubeletVersion))).toEqual(
      new Set([lab.versions.kubernetes]),
    );
  });

  it("fits into 1.5 GiB with three nodes", async () => {
    let kib = 0;
    for (const name of COMPONENTS) {
      const id = await processOf(layoutOf(lab.dir), name);
      const status = await readFile(`/proc/${id?.pid ?? 0}/status`, "utf8");
      kib += Number(/^VmRSS:\s+(\d+)/mu.exec(status)?.[1]);
    }
    expect(kib).toBeGreaterThan(0);
    expect(kib).toBeLessThan(1.5 * 1024 * 1024);
  });

  it("refuses a second `lab up` in its folder and says what to do", async () => {
    await expect(startLab({}, { dir: lab.dir })).rejects.toThrow(/whole and healthy.*lab down/su);
    expect((await lab.status()).healthy).toBe(true);
  });

  it(
    "schedules a Deployment, and an eviction honours its budget",
    async () => {
      await deployWeb(api, 3);
      await until("three pods Ready", async () => (await readyWebPods(api)) === 3);
      const budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";
      const allowed = async (): Promise<unknown> =>
        ((await api.get(budget)) as { status?: { disruptionsAllowed?: number } }).status?.disruptionsAllowed;
      await until("one disruption allowed", async () => (await allowed()) === 1);
      const [first, second] = await webPods(api);
      expect(await evict(first)).toBe(201);
      expect(await evict(second)).toBe(429);
      await until("three pods Ready again", async () => (await readyWebPods(api)) === 3);
      await until("one disruption allowed again", async () => (await allowed()) === 1);
      expect(await evict(second)).toBe(201);
      const audit = await readFile(join(layoutOf(lab.dir).logs, "audit.log"), "utf8");
      expect(audit.match(/"requestURI":"[^"]*\/eviction"/gu)?.length).toBe(3);
    },
    MINUTE,
  );

  it(
    "does not mind another lab beside it, sees its death, starts anew over its remains, and leaves nothing",
    async () => {
      const dir = dirOf("second");
      const second = await startLab({ name: "second", nodes: { count: 1 } }, { dir });
      const ports = Object.values((await requireState(layoutOf(dir))).ports);
      expect(second.apiServer).not.toBe(lab.apiServer);
      expect((await second.status()).nodes).toHaveLength(1);
      expect((await lab.status()).healthy).toBe(true);

      const etcd = await processOf(layoutOf(dir), "etcd");
      process.kill(etcd?.pid ?? 0, "SIGKILL");
      await until("etcd dead", async () => !(await living(dir)).includes("etcd"));
      const seen = await labCommand("status", "--dir", dir).done;
      expect(seen.code).toBe(1);
      expect(seen.out).toMatch(/etcd .* DEAD[^]*API NOT ready/u);

      const lines: string[] = [];
      const anew = await startLab(
        { name: "second", nodes: { count: 1 } },
        { dir, progress: (line) => lines.push(line) },
      );
      expect(lines.join("\n")).toMatch(/an earlier lab left its remains here: stopped .*kube-apiserver/u);
      expect((await anew.status()).healthy).toBe(true);

      const all = [...ports, ...Object.values((await requireState(layoutOf(dir))).ports)];
      const ids = [...(await recordedProcesses(layoutOf(dir))).values()];
      expect(ids).toHaveLength(COMPONENTS.length);
      const down = await labCommand("down", "--dir", dir).done;
      expect(down.code).toBe(0);
      for (const id of ids) expect(await isAlive(id)).toBe(false);
      for (const port of all) expect(await canListen(port), `port ${port}`).toBe(true);
      expect(existsSync(dir)).toBe(false);
      expect((await labCommand("down", "--dir", dir).done).code).toBe(0);
      expect((await lab.status()).healthy).toBe(true);
    },
    2 * MINUTE,
  );
});

describe("a start that is cut off", () => {
  it.each([
    ["SIGKILL", null],
    ["SIGINT", 130],
  ] as const)(
    "by %s of its driver leaves nothing behind, after `lab down --keep` nothing but the logs",
    async (signal, code) => {
      const dir = dirOf("killed");
      const up = labCommand("up", "--dir", dir);
      await until("the API server started", async () => (await living(dir)).includes("kube-apiserver"));
      up.child.kill(signal);
      expect((await up.done).code).toBe(code);
      if (signal === "SIGKILL") expect(await living(dir)).toEqual(["etcd", "kube-apiserver"]);
      else expect(await living(dir)).toEqual([]);
      const ids = [...(await recordedProcesses(layoutOf(dir))).values()];
      expect((await labCommand("down", "--dir", dir, "--keep").done).code).toBe(0);
      for (const id of ids) expect(await isAlive(id)).toBe(false);
      expect(existsSync(join(dir, "logs/kube-apiserver.log"))).toBe(true);
      expect(existsSync(join(dir, "pki"))).toBe(false);
      expect((await labCommand("down", "--dir", dir).done).code).toBe(0);
      expect(existsSync(dir)).toBe(false);
    },
    MINUTE,
  );

  it(
    "by taken ports tries others",
    async () => {
      const taken = createServer();
      await new Promise<void>((ready) => taken.listen(0, "127.0.0.1", ready));
      const { port } = taken.address() as { port: number };
      const dir = dirOf("ports");
      const tries = [{ etcdPeer: port }, { apiserver: port }, {}];
      const lines: string[] = [];
      try {
        const choosePorts = async (): Promise<Ports> => ({ ...(await pickPorts()), ...tries.shift() });
        const progress = (line: string): void => void lines.push(line);
        const lab = await startLab({ nodes: { count: 1 } }, { dir, progress, choosePorts });
        expect((await lab.status()).healthy).toBe(true);
        expect(tries).toEqual([]);
        expect(lines.join("\n").match(/a port was taken meanwhile/gu)).toHaveLength(2);
      } finally {
        taken.close();
        await stopLab(dir);
      }
    },
    MINUTE,
  );
});

describe("the command line", () => {
  it.each([
    [["up"], /--dir DIR is missing/u],
    [["pu", "--dir", "x"], /no such command: pu/u],
    [["status", "--dir", "x", "--keep"], /--keep is an option of down/u],
    [["up", "--dir", "x", "--nodes", "3"], /nodes/u],
  ])("refuses %j", async (args, message) => {
    const { code, out } = await labCommand(...args).done;
    expect(code).toBe(2);
    expect(out).toMatch(message);
  });

  it("tells every problem of a configuration, and starts nothing", async () => {
    const file = join(base, "wrong.yaml");
    await writeFile(file, "kubernetes: 1.30\nnodes:\n  cuont: 3\n");
    const { code, out } = await labCommand("up", "--dir", dirOf("wrong"), "--config", file).done;
    expect(code).toBe(2);
    expect(out).toMatch(/kubernetes: 1\.3\n[^]*quote it[^]*nodes\.cuont[^]*did you mean count/u);
    expect(existsSync(dirOf("wrong"))).toBe(false);
  });

  it("says that there is no lab", async () => {
    const { code, out } = await labCommand("status", "--dir", dirOf("nothing")).done;
    expect(code).toBe(1);
    expect(out).toMatch(/there is no lab in .*lab up/u);
  });
});
