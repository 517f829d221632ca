/** Upgrading nodes one by one, with a script in the place of ssh that does to the fake cluster what a kubelet would do. */
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { Refusal } from "../../commands/context.ts";
import { Machine, type MachineSpec } from "../../commands/machine.ts";
import { upgradeNodes } from "../../commands/upgrade-nodes.ts";
import { sha256 } from "../../commands/files.ts";
import { FakeCluster, NODES } from "../cluster/fake-cluster.ts";
import { withCertificates } from "../cluster/fake-server.ts";
import { temporaryFolder, testContext, untouchable, type TestContext } from "./context.ts";

withCertificates();

const TARGET = "v1.35.4";

/** Answers `kubeadm version` with the target, writes down all it is told, and does `more` (shell, with $node and $*). */
function machines(more = ":", kubeadm = TARGET): { spec: MachineSpec; told: () => string[] } {
  const folder = temporaryFolder();
  const file = path.join(folder, "on-node");
  writeFileSync(
    file,
    `#!/bin/sh
node=$1; shift
echo "$node $*" >> ${folder}/told
${more}
case "$*" in "kubeadm version"*) echo ${kubeadm};; esac
`,
  );
  chmodSync(file, 0o755);
  writeFileSync(path.join(folder, "told"), "");
  return {
    spec: {
      exec: [file, "{node}"],
      installKubeadm: [["install", "kubeadm={package}-*"]],
      installKubelet: [
        ["install", "kubelet={package}-*"],
        ["restart", "kubelet"],
      ],
      timeoutSeconds: 20,
    },
    told: () => readFileSync(path.join(folder, "told"), "utf8").trim().split("\n"),
  };
}

async function refusal(promise: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await promise.catch((reason: unknown) => reason);
  if (!(error instanceof Refusal)) throw new Error(`no refusal: ${String(error)}`);
  return error;
}

describe("a machine", () => {
  const on = (spec: MachineSpec, version = TARGET): Machine =>
    new Machine(testContext(untouchable), spec, "a", version);

  it("is told each argument as it is, with node, version and package filled in", async () => {
    const { spec, told } = machines();
    await on(spec, "1.35.4+k3s1").run(["echo", "{node} {version} {package} {other} $HOME"]);
    expect(told()).toEqual(["a echo a v1.35.4+k3s1 1.35.4 {other} $HOME"]);
  });

  it("gets kubeadm only where it has another one", async () => {
    const right = machines();
    await on(right.spec).installKubeadm();
    expect(right.told()).not.toContain("a install kubeadm=1.35.4-*");
    const missing = machines('case "$*" in "kubeadm version"*) exit 127;; esac');
    const refused = await refusal(on(missing.spec).installKubeadm());
    expect(missing.told()).toContain("a install kubeadm=1.35.4-*");
    expect(refused.message).toContain("'kubeadm version -o short' failed on a");
  });

  it("is not trusted to have installed what it was asked for", async () => {
    const { spec } = machines(":", "v1.34.4");
    const refused = await refusal(on(spec).installKubeadm());
    expect(refused.findings[0]?.message).toBe("kubeadm is v1.34.4 after its installation, wanted v1.35.4");
  });

  it("that fails is told with exit status and what it said", async () => {
    const { spec } = machines('echo "E: Unable to locate package" >&2; exit 100');
    const refused = await refusal(on(spec).runAll([["apt-get", "install"], ["never"]]));
    expect(refused.message).toBe("'apt-get install' failed on a");
    expect(refused.findings[0]?.message).toBe("exit status 100: E: Unable to locate package");
    expect(refused.seen["ran"]).toMatchObject([{ argv: ["apt-get", "install"], code: 100 }]);
  });

  it("that does not answer is given up", async () => {
    const { spec } = machines("sleep 60");
    const refused = await refusal(on({ ...spec, timeoutSeconds: 0.5 }).run(["true"]));
    expect(refused.findings[0]?.message).toContain("did not end within 0.5 s");
  });

  it("that cannot be reached at all is told as such", async () => {
    const refused = await refusal(on({ ...machines().spec, exec: ["no-such-ssh"] }).run(["true"]));
    expect(refused.findings[0]?.message).toContain("'no-such-ssh' cannot be started");
  });
});

describe("an upgrade of nodes", () => {
  function snapshotOf(context: TestContext): unknown {
    const file = path.join(context.out, "snapshot.db");
    writeFileSync(file, "snapshot");
    return {
      file,
      sha256: sha256("snapshot"),
      bytes: 8,
      hash: "1",
      revision: 5,
      liveRevision: 5,
      totalKeys: 1,
      takenAt: new Date().toISOString(),
      etcdClusterId: "c",
      clusterUid: "cluster-uid",
      restored: true,
    };
  }

  async function upgrading(
    nodes: readonly string[],
    broken: readonly string[] = [],
    controlPlane: string[] = [],
  ) {
    const fake = await FakeCluster.start();
    for (const name of ["a", "b", "c", "spare"]) fake.node(name);
    fake.workload("web", 3, ["a", "b", "c"], 2);
    const { spec, told } = machines();
    const base = testContext(fake.server.api);
    // The kubelet comes back at its new version when the machine was told to restart it.
    const seen = new Set<string>();
    const context: TestContext = {
      ...base,
      input: { facts: { snapshot: snapshotOf(base) } },
      progress: (line) => {
        base.lines.push(line);
        const node = /^(\w+)\$ restart kubelet$/.exec(line)?.[1];
        if (node === undefined || seen.has(node) || broken.includes(node)) return;
        seen.add(node);
        const old = fake.find(NODES, node);
        fake.node(node, {
          ...old,
          status: { nodeInfo: { kubeletVersion: TARGET }, conditions: [{ type: "Ready", status: "True" }] },
        });
      },
    };
    const run = () =>
      upgradeNodes.run(context, {
        target: TARGET,
        nodes: [...nodes],
        controlPlane,
        machine: spec,
        drain: { acknowledge: [], timeoutSeconds: 20, readySeconds: 1, terminationSeconds: 1, since: 1 },
        fresh: { maxAgeMinutes: 30, etcd: { endpoints: ["https://x:2379"] } },
        verify: { successes: 2, intervalSeconds: 0.01, timeoutSeconds: 0.3 },
      });
    return { fake, told, run, context };
  }

  it("is kubeadm, drain, kubelet, Ready, uncordon, one node after the other", async () => {
    const { fake, told, run, context } = await upgrading(["a", "b"]);
    const outcome = await run();
    expect(outcome.summary).toBe("kubelets at v1.35.4: a, b");
    expect(told().filter((line) => !line.includes("kubeadm version"))).toEqual([
      "a kubeadm upgrade node",
      "a install kubelet=1.35.4-*",
      "a restart kubelet",
      "b kubeadm upgrade node",
      "b install kubelet=1.35.4-*",
      "b restart kubelet",
    ]);
    expect(fake.cordoned()).toEqual([]);
    const lines = context.lines.join("\n");
    expect(lines.indexOf("node/a drained")).toBeLessThan(lines.indexOf("a$ install kubelet"));
    expect(lines.indexOf("a$ restart kubelet")).toBeLessThan(lines.indexOf("node/a uncordoned"));
    expect(lines.indexOf("node/a uncordoned")).toBeLessThan(lines.indexOf("node/b cordoned"));
  });

  it("stops at the first node that does not come back; it stays cordoned, later ones are not touched", async () => {
    const { fake, told, run } = await upgrading(["a", "b"], ["a"]);
    const refused = await refusal(run());
    expect(refused.message).toBe(
      "a did not come back at v1.35.4: it stays cordoned, and no further node is touched",
    );
    expect(refused.findings[0]?.code).toBe("NODE-VERSION");
    expect(fake.cordoned()).toEqual(["a"]);
    expect(told().filter((line) => line.startsWith("b "))).toEqual([]);
    expect(fake.evicted).toEqual(["web-0"]);
  });

  it("only gives back a node that is there already, and goes on with the next", async () => {
    const { fake, told, run } = await upgrading(["a", "b"]);
    fake.node("a", {
      spec: { unschedulable: true },
      status: { nodeInfo: { kubeletVersion: TARGET }, conditions: [{ type: "Ready", status: "True" }] },
    });
    await run();
    expect(told().filter((line) => line.startsWith("a "))).toEqual([]);
    expect(fake.evicted).not.toContain("web-0");
    expect(fake.cordoned()).toEqual([]);
  });

  it("does not run `kubeadm upgrade node` on a machine whose control plane was upgraded before", async () => {
    const { told, run } = await upgrading(["a"], [], ["a"]);
    await run();
    expect(told().join("\n")).not.toContain("kubeadm upgrade node");
  });

  it("touches nothing without a snapshot", async () => {
    const { fake, told, run, context } = await upgrading(["a"]);
    Object.assign(context, { input: null });
    await refusal(run());
    expect(told()).toEqual([""]);
    expect(fake.server.asked).toEqual([]);
  });
});
