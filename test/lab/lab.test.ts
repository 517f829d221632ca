import { spawn, type ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Api, list, text, type Json } from "../../lab/cluster/api.ts";
import { isAlive } from "../../lab/cluster/identity.ts";
import { loadLab, startLab, stopLab, type Lab } from "../../lab/cluster/index.ts";
import { COMPONENTS, layoutOf } from "../../lab/cluster/layout.ts";
import { isReady } from "../../lab/cluster/objects.ts";
import { pkiOf } from "../../lab/cluster/pki.ts";
import { pickPorts, type Ports } from "../../lab/cluster/ports.ts";
import { processOf, recordedProcesses } from "../../lab/cluster/process.ts";
import { readState, requireState } from "../../lab/cluster/state.ts";
import type { FaultInput } from "../../lab/machine/faults.ts";

const root = resolve(import.meta.dirname, "../..");
const MINUTE = 60_000;
let base: string;
const dirOf = (name: string): string => join(base, name);

interface Ran {
  readonly code: number | null;
  readonly out: string;
}

function launch(file: string, args: readonly string[]): { child: ChildProcess; done: Promise<Ran> } {
  const child = spawn(file, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  const keep = (chunk: Buffer): void => {
    out += chunk.toString();
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const done = new Promise<Ran>((finished) =>
    child.once("close", (code) => {
      finished({ code, out });
    }),
  );
  return { child, done };
}

const labCommand = (...args: string[]): ReturnType<typeof launch> =>
  launch(process.execPath, ["lab/cli.ts", ...args]);

function onNode(dir: string, node: string, ...command: string[]): ReturnType<typeof launch> {
  return launch(resolve(root, "lab/bin/on-node"), ["--lab", dir, node, "--", ...command]);
}

async function until(what: string, check: () => boolean | Promise<boolean>, limitMs = 30_000): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

async function connect(lab: Lab): Promise<Api> {
  const pki = pkiOf(layoutOf(lab.dir));
  return Api.connect(lab.apiServer, pki.ca.cert, pki.admin);
}

/** The processes of a lab that are alive now. */
async function living(dir: string): Promise<string[]> {
  const found: string[] = [];
  for (const [name, id] of await recordedProcesses(layoutOf(dir))) if (await isAlive(id)) found.push(name);
  return found;
}

function canListen(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const server = createServer();
    server.once("error", () => {
      answer(false);
    });
    server.listen(port, "127.0.0.1", () =>
      server.close(() => {
        answer(true);
      }),
    );
  });
}

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
  const pods = async (): Promise<readonly Json[]> =>
    list(await api.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dweb"), "items");
  const readyPods = async (): Promise<number> =>
    (await pods()).filter((pod) => isReady(pod) && text(pod, "metadata", "deletionTimestamp") === undefined)
      .length;
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
  const node = (name: string): Promise<Json> => api.get(`/api/v1/nodes/${name}`);
  const kubeletOf = async (name: string): Promise<string | undefined> =>
    text(await node(name), "status", "nodeInfo", "kubeletVersion");
  const inject = (faults: readonly FaultInput[]): Promise<void> =>
    writeFile(layoutOf(lab.dir).faults, JSON.stringify(faults));

  beforeAll(async () => {
    const began = Date.now();
    lab = await startLab({ name: "main", nodeMonitorGraceSeconds: 12 }, { dir: dirOf("main") });
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
      const labels = { app: "web" };
      await api.post("/apis/apps/v1/namespaces/default/deployments", {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { name: "web" },
        spec: {
          replicas: 3,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } },
        },
      });
      await api.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "web" },
        spec: { minAvailable: 2, selector: { matchLabels: labels } },
      });
      await until("three pods Ready", async () => (await readyPods()) === 3);
      const budget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";
      const allowed = async (): Promise<unknown> =>
        ((await api.get(budget)) as { status?: { disruptionsAllowed?: number } }).status?.disruptionsAllowed;
      await until("one disruption allowed", async () => (await allowed()) === 1);
      const [first, second] = await pods();
      expect(await evict(first)).toBe(201);
      expect(await evict(second)).toBe(429);
      await until("three pods Ready again", async () => (await readyPods()) === 3);
      await until("one disruption allowed again", async () => (await allowed()) === 1);
      expect(await evict(second)).toBe(201);
      const audit = await readFile(join(layoutOf(lab.dir).logs, "audit.log"), "utf8");
      expect(audit.match(/"requestURI":"[^"]*\/eviction"/gu)?.length).toBe(3);
    },
    MINUTE,
  );

  it(
    "takes everything back when a part of the new release does not come up",
    async () => {
      const install = "apt-get install -y --allow-change-held-packages kubeadm=1.35.99-*";
      const target =
        /has kubeadm (\S+)-1\.1/u.exec((await onNode(lab.dir, "lab-node-0", install).done).out)?.[1] ?? "";
      await onNode(lab.dir, "lab-node-0", install.replace("1.35.99", target)).done;
      const file = layoutOf(lab.dir).repository;
      const repository = await readFile(file, "utf8");
      const broken = JSON.parse(repository) as Record<string, { files: Record<string, string> }>;
      const files = broken["1.35"]?.files ?? {};
      files["kube-controller-manager"] = "/bin/false";
      await writeFile(file, JSON.stringify(broken));
      const failed = await onNode(lab.dir, "lab-node-0", `kubeadm upgrade apply -y v${target}`).done;
      await writeFile(file, repository);
      expect(failed.code).toBe(1);
      expect(failed.out).toMatch(
        /recover everything into the earlier state.*kube-controller-manager exited/su,
      );
      const status = await lab.status();
      expect(status.healthy).toBe(true);
      expect(
        status.processes.map((each) => each.version).filter((version) => version.startsWith("v1.")),
      ).toEqual(Array(3).fill(lab.versions.kubernetes));
      expect(text(await api.get("/version"), "gitVersion")).toBe(lab.versions.kubernetes);
      const back = `apt-get install -y --allow-change-held-packages --allow-downgrades kubeadm=${lab.versions.kubernetes.slice(1)}-*`;
      expect((await onNode(lab.dir, "lab-node-0", back).done).code).toBe(0);
    },
    MINUTE,
  );

  it(
    "lets its control plane be upgraded by a minor, also after a kill half-way, with all data",
    async () => {
      const uids = async (): Promise<(string | undefined)[]> =>
        (await pods()).map((pod) => text(pod, "metadata", "uid")).sort();
      await until("three pods, Ready", async () => (await readyPods()) === 3 && (await pods()).length === 3);
      const before = await uids();

      const early = await onNode(lab.dir, "lab-node-0", "kubeadm upgrade apply -y v1.35.0").done;
      expect(early).toMatchObject({
        code: 1,
        out: expect.stringMatching(/higher than the kubeadm minor/u) as string,
      });
      const held = await onNode(lab.dir, "lab-node-0", "apt-get install -y kubeadm=1.35.99-*").done;
      expect(held.code).toBe(100);
      const target = /has kubeadm (\S+)-1\.1/u.exec(held.out)?.[1] ?? "";
      const install = await onNode(
        lab.dir,
        "lab-node-0",
        `apt-mark unhold kubeadm && apt-get install -y 'kubeadm=${target}-*' && apt-mark hold kubeadm`,
      ).done;
      expect(install).toMatchObject({ code: 0 });
      const worker = await onNode(lab.dir, "lab-node-1", `kubeadm upgrade apply -y v${target}`).done;
      expect(worker).toMatchObject({ code: 1, out: expect.stringMatching(/admin\.conf/u) as string });
      const plan = await onNode(lab.dir, "lab-node-0", "kubeadm upgrade plan").done;
      expect(plan.out).toMatch(
        new RegExp(`kube-apiserver +lab-node-0 +${lab.versions.kubernetes} +v${target}`, "u"),
      );

      const cut = onNode(lab.dir, "lab-node-0", `kubeadm upgrade apply -y v${target}`);
      const apiserver = async (): Promise<string | undefined> =>
        (await readState(layoutOf(lab.dir)))?.components["kube-apiserver"].version;
      await until("the API server is being replaced", async () => (await apiserver()) === `v${target}`);
      cut.child.kill("SIGKILL");
      await cut.done;
      const again = await onNode(lab.dir, "lab-node-0", `kubeadm upgrade apply -y v${target}`).done;
      expect(again).toMatchObject({ code: 0, out: expect.stringMatching(/SUCCESS!/u) as string });

      const status = await lab.status();
      expect(status.healthy).toBe(true);
      expect(
        status.processes.filter((each) => each.name.startsWith("kube-")).map((each) => each.version),
      ).toEqual(Array(3).fill(`v${target}`));
      expect(text(await api.get("/version"), "gitVersion")).toBe(`v${target}`);
      expect((await loadLab(lab.dir)).versions.kubernetes).toBe(`v${target}`);
      expect(await uids()).toEqual(before);
      expect(new Set(status.nodes.map((each) => each.kubeletVersion))).toEqual(
        new Set([lab.versions.kubernetes]),
      );
      // The new controllers and scheduler are at work, not only alive.
      await api.patch("/apis/apps/v1/namespaces/default/deployments/web", { spec: { replicas: 4 } });
      // The simulated kubelets watch the API as real ones do: after an outage with a back-off of up to 30 s.
      await until("a fourth pod", async () => (await readyPods()) === 4, 75_000);

      const down = await onNode(
        lab.dir,
        "lab-node-0",
        `kubeadm upgrade apply -y --force ${lab.versions.kubernetes}`,
      ).done;
      expect(down).toMatchObject({
        code: 1,
        out: expect.stringMatching(/cannot go back a minor version/u) as string,
      });
    },
    2 * MINUTE,
  );

  it(
    "reports a kubelet's new version a moment after its restart, and a kubelet that does not come back",
    async () => {
      const { version } = (await requireState(layoutOf(lab.dir))).components["kube-apiserver"];
      const plain = version.slice(1);
      const upgrade =
        `kubeadm upgrade node && apt-mark unhold kubelet kubectl && apt-get install -y kubelet=${plain}-* kubectl=${plain}-* && ` +
        "apt-mark hold kubelet kubectl && systemctl daemon-reload && systemctl restart kubelet";
      await inject([
        { node: "lab-node-2", command: "systemctl restart kubelet", action: "kubelet-down", times: 1 },
      ]);
      const [good, bad] = await Promise.all(
        ["lab-node-1", "lab-node-2"].map((name) => onNode(lab.dir, name, upgrade).done),
      );
      expect([good?.code, bad?.code]).toEqual([0, 0]);
      await until("the new version", async () => (await kubeletOf("lab-node-1")) === version);
      expect((await onNode(lab.dir, "lab-node-2", "systemctl is-active kubelet").done).code).toBe(3);
      await until("lab-node-2 NotReady", async () => !isReady(await node("lab-node-2")), 40_000);
      const hosted = async (): Promise<boolean[]> =>
        (await pods())
          .filter((pod) => text(pod, "spec", "nodeName") === "lab-node-2")
          .map((pod) => isReady(pod));
      await until("its pods not Ready", async () => (await hosted()).every((ready) => !ready));
      expect(await kubeletOf("lab-node-2")).toBe(lab.versions.kubernetes);
      expect(isReady(await node("lab-node-1"))).toBe(true);
      expect((await onNode(lab.dir, "lab-node-2", "systemctl restart kubelet").done).code).toBe(0);
      await until(
        "lab-node-2 back",
        async () => isReady(await node("lab-node-2")) && (await kubeletOf("lab-node-2")) === version,
      );
    },
    2 * MINUTE,
  );

  it("has its faults: a command that fails, and one whose connection is lost after its work", async () => {
    await inject([
      { node: "*", command: "^apt-get update", action: "fail", message: "E: no route", exitCode: 100 },
      { node: "lab-node-0", command: "hold kubectl", action: "kill-after" },
    ]);
    expect(await onNode(lab.dir, "lab-node-1", "apt-get update").done).toEqual({
      code: 100,
      out: "E: no route\n",
    });
    expect((await onNode(lab.dir, "lab-node-0", "apt-mark unhold kubectl").done).code).toBeNull();
    await inject([]);
    expect((await onNode(lab.dir, "lab-node-0", "apt-mark showhold").done).out).toBe("kubeadm\nkubelet\n");
  });

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
