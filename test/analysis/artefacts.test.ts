import { describe, expect, test } from "vitest";
import {
  checkAfterDrainFile,
  checkCordonFile,
  checkCordonNote,
  checkDrainFile,
  checkRolloutFile,
  checkUncordonFile,
  checkVersionsFile,
  readNodeTable,
} from "../../analysis/artefacts.ts";
import type { Finding } from "../../analysis/finding.ts";
import { planRollout } from "../../analysis/rollout.ts";

const nodes = ["lab-node-0", "lab-node-1", "lab-node-2"];
const node = "lab-node-1";
const messages = (findings: readonly Finding[]): string =>
  findings.map(({ subject, message }) => `${subject} ${message}`).join("\n");

describe("versions.json (U1)", () => {
  const live = { server: "v1.34.4", nodes: Object.fromEntries(nodes.map((name) => [name, "v1.34.4"])) };
  const check = (document: unknown): string => messages(checkVersionsFile(JSON.stringify(document), live));

  test("what the cluster reports passes, in any order and with vendor marks", () => {
    expect(check(live)).toBe("");
    expect(
      check({ nodes: Object.fromEntries(Object.entries(live.nodes).reverse()), server: live.server }),
    ).toBe("");
    const eks = { server: "v1.29.4-eks-036c24b", nodes: { a: "v1.29.1-eks-1" } };
    expect(checkVersionsFile(JSON.stringify(eks), eks)).toEqual([]);
    expect(checkVersionsFile(JSON.stringify(live), { nodes: live.nodes })).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    [
      "a node left out",
      { ...live, nodes: { "lab-node-0": "v1.34.4", "lab-node-1": "v1.34.4" } },
      "nodes lacks lab-node-2",
    ],
    [
      "a node too many",
      { ...live, nodes: { ...live.nodes, "lab-node-3": "v1.34.4" } },
      "nodes.lab-node-3 is no node of the cluster",
    ],
    [
      "a version that is not the kubelet's",
      { ...live, nodes: { ...live.nodes, "lab-node-2": "v1.34.3" } },
      'nodes.lab-node-2 is "v1.34.3", its kubelet runs v1.34.4',
    ],
    ["a server without its v", { ...live, server: "1.34.4" }, 'server is "1.34.4"'],
    ["a server without its patch", { ...live, server: "v1.34" }, 'server is "v1.34"'],
    ["another server", { ...live, server: "v1.34.5" }, "the API server runs v1.34.4"],
    ["a number", { ...live, server: 1.34 }, "server: "],
    ["nodes as a list", { ...live, nodes }, "nodes: "],
    ["nothing", null, "the document: "],
  ])("%s is found", (_name, document, message) => {
    expect(check(document)).toContain(message);
  });

  test("what is no JSON is found", () => {
    expect(messages(checkVersionsFile("{server: v1.34.4}", live))).toContain("is no JSON");
    expect(messages(checkVersionsFile("", live))).toContain("is no JSON");
  });
});

const table = (cordoned: readonly string[], names: readonly string[] = nodes): string =>
  ["NAME         STATUS                     ROLES    AGE   VERSION"]
    .concat(
      names.map(
        (name) =>
          `${name}   Ready${cordoned.includes(name) ? ",SchedulingDisabled" : ""}   <none>   5m   v1.34.4`,
      ),
    )
    .join("\n");

describe("cordon.txt (U2)", () => {
  const check = (text: string): string => messages(checkCordonFile(text, { node, nodes }));

  test("the list with this node closed passes, with or without headings, a first line of kubectl cordon, or -o name", () => {
    expect(check(table([node]))).toBe("");
    expect(check(table([node]).split("\n").slice(1).join("\n"))).toBe("");
    expect(check(`node/${node} cordoned\r\n${table([node]).replaceAll("\n", "\r\n")}\r\n`)).toBe("");
  });

  test.each<[string, string, string]>([
    ["an open node", table([]), "lab-node-1 is not SchedulingDisabled"],
    ["the wrong node closed", table(["lab-node-0"]), "lab-node-0 is SchedulingDisabled as well"],
    ["a second node closed", table([node, "lab-node-2"]), "lab-node-2 is SchedulingDisabled as well"],
    ["a node left out", table([node], ["lab-node-0", node]), "does not list lab-node-2"],
    ["another cluster", table([node], [...nodes, "lab-node-10"]), "lists lab-node-10"],
    ["the words without a list", "lab-node-1 SchedulingDisabled is what it is", "does not list lab-node-0"],
    ["no list", "node/lab-node-1 cordoned\n", "holds no node list"],
  ])("%s is found", (_name, text, message) => {
    expect(check(text)).toContain(message);
  });

  test("a node that is not Ready is a row too", () => {
    expect(
      readNodeTable(
        "a NotReady,SchedulingDisabled <none> 1m v1.34.4\nb Unknown <none> 1m v1.34.4\nnote that b is old",
      ),
    ).toEqual([
      { name: "a", status: ["NotReady", "SchedulingDisabled"] },
      { name: "b", status: ["Unknown"] },
    ]);
  });
});

describe("cordon-note.txt (U2)", () => {
  test.each([
    "cordon only stops new pods; it leaves running pods alone",
    "Cordoning a node does not touch pods that are already running on it.\n",
    "cordon: running pods stay where they are",
    "After a cordon, existing pods keep running; only new ones go elsewhere.\r\n\r\n",
    "kubectl cordon never evicts running pods",
  ])("%j passes", (text) => {
    expect(checkCordonNote(text)).toEqual([]);
  });

  test.each([
    ["", "0 lines"],
    ["\n \n", "0 lines"],
    ["cordon leaves running pods alone\nreally", "2 lines"],
    ["running pods are not touched", "about cordon"],
    ["cordon closes the node", "running pods are left alone"],
    ["cordon evicts running pods", "running pods are left alone"],
  ])("%j is found", (text, message) => {
    expect(messages(checkCordonNote(text))).toContain(message);
  });
});

describe("drain.txt (U4)", () => {
  const output = [
    "node/lab-node-1 already cordoned",
    "Warning: ignoring DaemonSet-managed Pods: kube-system/agent-x",
    "evicting pod ops-upgrade/web-5d-1",
    'error when evicting pods/"web-5d-1" -n "ops-upgrade" (will retry after 5s): Cannot evict pod as it would violate the budget.',
    "evicting pod ops-upgrade/web-5d-1",
    "pod/web-5d-1 evicted",
    "node/lab-node-1 drained",
    "",
  ].join("\n");
  const check = (text: string, evicted?: string[]): string =>
    messages(checkDrainFile(text, evicted === undefined ? { node } : { node, evicted }));

  test("kubectl's output passes, also with retries, and with only the lines of one kind", () => {
    expect(check(output)).toBe("");
    expect(check(output, ["ops-upgrade/web-5d-1"])).toBe("");
    expect(check(output.replaceAll(/^evicting.*$/gm, ""), ["ops-upgrade/web-5d-1"])).toBe("");
    expect(check("node/lab-node-1 drained", [])).toBe("");
  });

  test.each<[string, string, string]>([
    ["an empty file", "", "is empty"],
    [
      "a drain that did not end",
      output.replace("node/lab-node-1 drained", ""),
      'ends with "pod/web-5d-1 evicted"',
    ],
    ["another node", output.replace("node/lab-node-1 drained", "node/lab-node-10 drained"), "not with"],
    ["a dry run", output.replace("drained", "drained (server dry run)"), "not with"],
    ["an error at the end", `${output}error: unable to drain`, "not with"],
    ["no eviction", "node/lab-node-1 cordoned\nnode/lab-node-1 drained", "lists no eviction"],
  ])("%s is found", (_name, text, message) => {
    expect(check(text)).toContain(message);
  });

  test("an eviction that is missing is named", () => {
    expect(check(output, ["ops-upgrade/web-5d-1", "ops-upgrade/web-5d-11"])).toBe(
      "drain.txt does not list the eviction of ops-upgrade/web-5d-11",
    );
  });
});

describe("after-drain.txt (U4)", () => {
  const line = (name: string, where: string): string =>
    `${name}   1/1   Running   0   2m   10.0.0.7   ${where}   <none>   <none>`;
  const good = [line("web-1", "lab-node-0"), line("web-2", "lab-node-2"), line("web-3", "lab-node-0")];
  const check = (
    lines: readonly string[],
    more: Partial<Parameters<typeof checkAfterDrainFile>[1]> = {},
  ): string => messages(checkAfterDrainFile(lines.join("\n"), { node, nodes, replicas: 3, ...more }));

  test("pods elsewhere pass, with headings or without", () => {
    expect(check(good)).toBe("");
    expect(check(["NAME READY STATUS RESTARTS AGE IP NODE", ...good, ""])).toBe("");
  });

  test("lab-node-10 is not lab-node-1", () => {
    expect(
      check([...good.slice(1), line("web-9", "lab-node-10")], { nodes: [...nodes, "lab-node-10"] }),
    ).toBe("");
  });

  test.each<[string, readonly string[], string]>([
    ["a pod still there", [...good.slice(1), line("web-1", node)], "names the drained lab-node-1"],
    ["too few pods", good.slice(1), "lists 2 pods, not 3"],
    ["headings counted as pods", ["NAME READY NODE", ...good.slice(1)], "lists 2 pods, not 3"],
    [
      "pods without nodes",
      ["web-1 1/1 Running", "web-2 1/1 Running", "web-3 1/1 Running"],
      "names no other node",
    ],
    ["one pod pending", [...good.slice(1), line("web-3", "<none>")], "has lines without a node's name"],
    ["nothing", [], "lists 0 pods"],
  ])("%s is found", (_name, lines, message) => {
    expect(check(lines)).toContain(message);
  });
});

describe("uncordon.txt (U5)", () => {
  test.each(["node/lab-node-1 uncordoned\n", "node/lab-node-1 already uncordoned"])("%j passes", (text) => {
    expect(checkUncordonFile(text, { node })).toEqual([]);
  });

  test.each([
    "",
    "node/lab-node-10 uncordoned",
    "node/lab-node-1 cordoned",
    "node/lab-node-1 uncordoned (dry run)",
  ])("%j is found", (text) => {
    expect(checkUncordonFile(text, { node })).toHaveLength(1);
  });
});

describe("rollout.json (U8)", () => {
  const rollout = planRollout(nodes.map((name) => ({ name, controlPlane: false })));

  test("the planned rollout passes; a broken one is found, the file named", () => {
    expect(checkRolloutFile(JSON.stringify(rollout), nodes)).toEqual([]);
    const broken = { ...rollout, stages: rollout.stages.slice(0, 2) };
    expect(messages(checkRolloutFile(JSON.stringify(broken), nodes))).toBe(
      "rollout.json lab-node-2 is in no stage and would stay at its old version",
    );
    expect(messages(checkRolloutFile("stages: []", nodes))).toContain("is no JSON");
  });
});
