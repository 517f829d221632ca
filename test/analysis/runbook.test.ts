import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planRollout } from "../../analysis/rollout.ts";
import { checkRunbook, namesWord } from "../../analysis/runbook-check.ts";
import { type RunbookFacts, renderRunbook } from "../../analysis/runbook.ts";

const nodes = ["lab-node-0", "lab-node-1", "lab-node-2"].map((name, index) => ({
  name,
  controlPlane: index === 0,
  kubeletVersion: "v1.34.4",
}));
const facts: RunbookFacts = {
  cluster: "lab",
  clusterUid: "11111111-aaaa",
  serverVersions: ["v1.34.4"],
  nodes,
  target: "1.35.4",
  rollout: planRollout(nodes),
  snapshotPath: "/var/backups/etcd-2026.db",
};
const expected = { nodes: nodes.map(({ name }) => name), target: "v1.35.4" };
const text = renderRunbook(facts);
const codes = (changed: string): string[] => checkRunbook(changed, expected).map(({ code }) => code);

/** The check of the exercise, written anew: line numbers of the first occurrences. */
const firstLines = (document: string): number[] =>
  [
    /etcd.*snapshot/i,
    /kubeadm upgrade plan/i,
    /kubeadm upgrade apply/i,
    /kubeadm upgrade node/i,
    /drain/i,
    /uncordon/i,
  ].map((pattern) => document.split("\n").findIndex((line) => pattern.test(line)));
const inOrder = (lines: readonly number[]): boolean =>
  lines.every((line, index) => line >= 0 && (index === 0 || line > (lines[index - 1] ?? Infinity)));

describe("the rendered runbook", () => {
  test("passes its check, and the exercise's", () => {
    expect(checkRunbook(text, expected)).toEqual([]);
    expect(inOrder(firstLines(text))).toBe(true);
    expect(Buffer.byteLength(text)).toBeGreaterThan(500);
  });

  test("opens with what cannot be undone", () => {
    const headings = text.split("\n").filter((line) => line.startsWith("## "));
    expect(headings[0]).toBe("## What cannot be undone");
    expect(text).toContain("The only way back is to restore the snapshot");
  });

  test("is for this cluster: names, roles, versions, stages, the snapshot's path and the cluster's uid", () => {
    expect(text).toContain("| lab-node-0 | control plane | v1.34.4 | canary |");
    expect(text).toContain("| lab-node-2 | worker | v1.34.4 | batch2 |");
    expect(text).toContain("etcdctl snapshot save /var/backups/etcd-2026.db");
    expect(text).toContain("kubeadm upgrade apply v1.35.4");
    expect(text).toContain("kubelets from 1.32 to 1.34 and kubectl from 1.34 to 1.35");
    expect(text).toContain("11111111-aaaa");
  });

  test("goes through the nodes in the rollout's order, each drained before it is opened again", () => {
    const commands = text.split("\n").filter((line) => /kubectl (drain|uncordon)/.test(line));
    expect(commands.map((line) => line.trim().replace(/`kubectl (\w+) "([^"]+)".*/, "$1 $2"))).toEqual(
      nodes.flatMap(({ name }) => [`drain ${name}`, `uncordon ${name}`]),
    );
  });

  test("a single node is canary and all", () => {
    const one = nodes.slice(0, 1);
    const small = renderRunbook({ ...facts, nodes: one, rollout: planRollout(one) });
    expect(checkRunbook(small, { nodes: ["lab-node-0"], target: "1.35.4" })).toEqual([]);
    expect(small).toContain("There is no other in this cluster.");
  });

  test("other control-plane nodes are named in order", () => {
    const three = ["cp-2", "cp-10", "cp-1"].map((name) => ({
      name,
      controlPlane: true,
      kubeletVersion: "v1.34.4",
    }));
    expect(renderRunbook({ ...facts, nodes: three, rollout: planRollout(three) })).toContain(
      "in this order: cp-2, cp-10.",
    );
  });

  test("a wrong rollout, no nodes or an unreadable target make no runbook", () => {
    expect(() => renderRunbook({ ...facts, nodes: [] })).toThrow(RangeError);
    expect(() => renderRunbook({ ...facts, serverVersions: [] })).toThrow(RangeError);
    expect(() => renderRunbook({ ...facts, rollout: { ...facts.rollout, stages: [] } })).toThrow(RangeError);
    expect(() => renderRunbook({ ...facts, target: "newest" })).toThrow("not a Kubernetes version");
  });

  const word = fc.constantFrom(
    "drain",
    "uncordon",
    "cordon",
    "etcd",
    "snapshot",
    "kubeadm",
    "upgrade",
    "node",
    "apply",
    "plan",
    "a",
    "7",
  );
  const name = fc
    .array(word, { minLength: 1, maxLength: 4 })
    .chain((words) => fc.constantFrom("-", ".", "").map((by) => words.join(by)));

  test("whatever the nodes, the cluster and the snapshot are called, it passes", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { minLength: 1, maxLength: 6 }),
        fc.oneof(name, fc.string()),
        fc.oneof(name, fc.string()),
        fc.nat(3),
        fc.array(
          fc.oneof(
            name,
            fc.string().filter((one) => one.trim() !== ""),
          ),
          { minLength: 1, maxLength: 3 },
        ),
        (names, cluster, path, leaders, verify) => {
          const given = names.map((one, index) => ({
            name: one,
            controlPlane: index < leaders,
            kubeletVersion: "v1.34.4",
          }));
          const document = renderRunbook({
            ...facts,
            cluster,
            snapshotPath: path,
            nodes: given,
            rollout: planRollout(given, { verify }),
          });
          expect(checkRunbook(document, { nodes: names, target: "1.35.4" })).toEqual([]);
          expect(inOrder(firstLines(document))).toBe(true);
        },
      ),
    );
  });
});

describe("checkRunbook", () => {
  const swap = (a: string, b: string): string =>
    text.replaceAll(a, "\u0000").replaceAll(b, a).replaceAll("\u0000", b);

  test.each<[string, string, string[]]>([
    ["plan after apply", swap("kubeadm upgrade plan", "kubeadm upgrade apply v1.35.4"), ["RUNBOOK-ORDER"]],
    [
      "apply and node on one line",
      text.replace(
        "`kubeadm upgrade apply v1.35.4`",
        "`kubeadm upgrade apply v1.35.4`, then `kubeadm upgrade node`",
      ),
      ["RUNBOOK-ORDER"],
    ],
    [
      "drain and uncordon on one line",
      text.replace("`kubectl drain", "`kubectl drain and uncordon"),
      ["RUNBOOK-ORDER"],
    ],
    ["uncordon before drain", swap("kubectl drain", "kubectl uncordon"), ["RUNBOOK-ORDER"]],
    [
      "drain in the opening",
      text.replace("## Where it stands", "## Where it stands, and what to drain"),
      ["RUNBOOK-ORDER"],
    ],
    ["no snapshot", text.replaceAll(/^.*etcd.*$/gm, ""), ["RUNBOOK-STEP"]],
    ["no drain", text.replaceAll(/^.*kubectl drain.*$/gm, ""), ["RUNBOOK-STEP"]],
    ["no word of minors", text.replace(/^Minor versions.*$/m, "Go on slowly."), ["RUNBOOK-SENTENCE"]],
    ["no word of downgrades", text.replace(/^A downgrade.*$/m, ""), ["RUNBOOK-SENTENCE"]],
    ["no word of the way back", text.replace(/^The only way back.*$/m, ""), ["RUNBOOK-SENTENCE"]],
    ["a node left out", text.replaceAll("lab-node-2", "lab-node-20"), ["RUNBOOK-NODES"]],
    ["another target", text.replaceAll("1.35.4", "1.35.40"), ["RUNBOOK-TARGET"]],
    [
      "too short",
      "etcd snapshot\nkubeadm upgrade plan\n",
      [
        "RUNBOOK-SHORT",
        "RUNBOOK-STEP",
        "RUNBOOK-STEP",
        "RUNBOOK-STEP",
        "RUNBOOK-STEP",
        "RUNBOOK-SENTENCE",
        "RUNBOOK-SENTENCE",
        "RUNBOOK-SENTENCE",
        "RUNBOOK-NODES",
        "RUNBOOK-TARGET",
      ],
    ],
  ])("%s is found", (_name, changed, found) => {
    expect(codes(changed)).toEqual(found);
  });

  test("a runbook in someone else's words passes", () => {
    const own = `# Upgrade to v1.35.4
We upgrade lab-node-0, lab-node-1 and lab-node-2. You can't skip a minor.
Downgrades are unsupported. If it goes wrong, restoring the snapshot is the only way out.

1. Back up: take an etcd snapshot and copy it off the machine. Keep two copies of it, one of them in another building.
2. kubeadm upgrade plan
3. First control-plane node: kubeadm upgrade apply v1.35.4
4. The others: kubeadm upgrade node
5. Per node: kubectl drain NODE --ignore-daemonsets
6. Upgrade the kubelet and restart it, and look whether the node is Ready and reports the new version.
7. kubectl uncordon NODE and wait until the pods are Ready again, before the next node is touched at all.
`;
    expect(checkRunbook(own, expected)).toEqual([]);
    expect(checkRunbook(own.replaceAll("\n", "\r\n"), expected)).toEqual([]);
  });

  test.each([
    ["on node-1,", "node-1", true],
    ["node-10", "node-1", false],
    ["my-node-1", "node-1", false],
    ["node-1.example", "node-1", false],
    ["drain node-1.", "node-1", true],
    ["v1.35.40", "1.35.4", false],
    ["a.b", "a+b", false],
  ])("%j names %s: %s", (line, name, found) => {
    expect(namesWord(line, name)).toBe(found);
  });
});
