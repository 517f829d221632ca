import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { text, type Api, type Json } from "../../lab/cluster/api.ts";
import { loadLab, startLab, stopLab, type Lab } from "../../lab/cluster/index.ts";
import { layoutOf } from "../../lab/cluster/layout.ts";
import { isReady } from "../../lab/cluster/objects.ts";
import { readState, requireState } from "../../lab/cluster/state.ts";
import type { FaultInput } from "../../lab/machine/faults.ts";
import { connect, deployWeb, MINUTE, onNode, readyWebPods, until, webPods } from "./support.ts";

// The simulated kubelets watch the API as real ones do: after it was away, with a back-off of up to 30 s.
const AFTER_OUTAGE = 75_000;

describe("a lab's machines", () => {
  let dir: string;
  let lab: Lab;
  let api: Api;
  const node = (name: string): Promise<Json> => api.get(`/api/v1/nodes/${name}`);
  const kubeletOf = async (name: string): Promise<string | undefined> =>
    text(await node(name), "status", "nodeInfo", "kubeletVersion");
  const inject = (faults: readonly FaultInput[]): Promise<void> =>
    writeFile(layoutOf(lab.dir).faults, JSON.stringify(faults));

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "lab-upgrade-"));
    lab = await startLab({ name: "upgrade", nodeMonitorGraceSeconds: 12 }, { dir: join(dir, "lab") });
    api = await connect(lab);
    await deployWeb(api, 6);
    await until("six pods Ready", async () => (await readyWebPods(api)) === 6);
  }, 5 * MINUTE);

  afterAll(async () => {
    api.close();
    await stopLab(join(dir, "lab"));
    await rm(dir, { recursive: true, force: true });
  }, MINUTE);

  it("have their faults: a command that fails, and one whose connection is lost after its work", async () => {
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
    expect((await onNode(lab.dir, "lab-node-0", "apt-mark hold kubectl").done).code).toBe(0);
  });

  it(
    "have kubelets that may not come back: the Node and its pods are not Ready, until one does",
    async () => {
      const hosted = async (): Promise<boolean[]> =>
        (await webPods(api))
          .filter((pod) => text(pod, "spec", "nodeName") === "lab-node-2")
          .map((pod) => isReady(pod));
      expect(await hosted()).toContain(true);
      await inject([
        { node: "lab-node-2", command: "systemctl restart kubelet", action: "kubelet-down", times: 1 },
      ]);
      expect((await onNode(lab.dir, "lab-node-2", "systemctl restart kubelet").done).code).toBe(0);
      expect((await onNode(lab.dir, "lab-node-2", "systemctl is-active kubelet").done).code).toBe(3);
      await until("lab-node-2 NotReady", async () => !isReady(await node("lab-node-2")));
      await until("its pods not Ready", async () => !(await hosted()).includes(true));
      expect(isReady(await node("lab-node-1"))).toBe(true);
      expect((await onNode(lab.dir, "lab-node-2", "systemctl restart kubelet").done).code).toBe(0);
      await until("lab-node-2 Ready again", async () => isReady(await node("lab-node-2")));
      await until("its pods Ready again", async () => !(await hosted()).includes(false));
    },
    MINUTE,
  );

  it(
    "take everything back when a part of the new release does not come up",
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
    "upgrade the control plane by a minor, also after a kill half-way, with all data",
    async () => {
      const uids = async (): Promise<(string | undefined)[]> =>
        (await webPods(api)).map((pod) => text(pod, "metadata", "uid")).sort();
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
      await api.patch("/apis/apps/v1/namespaces/default/deployments/web", { spec: { replicas: 7 } });
      await until("a seventh pod", async () => (await readyWebPods(api)) === 7, AFTER_OUTAGE);

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
    "report a kubelet's new version a moment after its restart, not before",
    async () => {
      const { version } = (await requireState(layoutOf(lab.dir))).components["kube-apiserver"];
      const plain = version.slice(1);
      const install = `kubeadm upgrade node && apt-mark unhold kubelet kubectl && apt-get install -y kubelet=${plain}-* kubectl=${plain}-*`;
      expect((await onNode(lab.dir, "lab-node-1", install).done).code).toBe(0);
      expect((await onNode(lab.dir, "lab-node-1", "kubelet --version").done).out).toBe(
        `Kubernetes ${version}\n`,
      );
      expect(await kubeletOf("lab-node-1")).toBe(lab.versions.kubernetes);
      const restart = "apt-mark hold kubelet kubectl && systemctl daemon-reload && systemctl restart kubelet";
      expect((await onNode(lab.dir, "lab-node-1", restart).done).code).toBe(0);
      await until("the new version", async () => (await kubeletOf("lab-node-1")) === version, AFTER_OUTAGE);
      expect(await kubeletOf("lab-node-2")).toBe(lab.versions.kubernetes);
      expect(isReady(await node("lab-node-1"))).toBe(true);
    },
    2 * MINUTE,
  );
});
