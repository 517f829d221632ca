import { describe, expect, it } from "vitest";
import { nodesOf, parseLabConfig } from "../../lab/cluster/config.ts";
import { LabError, type Problem } from "../../lab/cluster/errors.ts";

function problemsOf(input: unknown): readonly Problem[] {
  try {
    parseLabConfig(input);
  } catch (error) {
    if (error instanceof LabError) return error.problems;
    throw error;
  }
  return [];
}

describe("defaults", () => {
  it("is the source's example: three nodes, 1.34, a control plane with a label and without a taint", () => {
    const config = parseLabConfig({});
    const nodes = nodesOf(config);
    expect(config.kubernetes).toBe("1.34");
    expect(nodes.map((node) => [node.name, node.zone, node.controlPlane])).toEqual([
      ["lab-node-0", "a", true],
      ["lab-node-1", "b", false],
      ["lab-node-2", "c", false],
    ]);
    expect(nodes.flatMap((node) => node.taints)).toEqual([]);
    expect(new Set(nodes.map((node) => node.address)).size).toBe(3);
    expect(nodes.every((node) => node.kubeletVersion === undefined)).toBe(true);
  });

  it("gives 300 nodes 300 addresses, none of them one that was given by hand", () => {
    const list = [
      { name: "first", controlPlane: true, address: "172.30.0.2" },
      ...Array.from({ length: 299 }, (_, index) => ({ name: `n${index}` })),
    ];
    expect(new Set(nodesOf(parseLabConfig({ nodes: list })).map((node) => node.address)).size).toBe(300);
  });
});

describe("accepted", () => {
  const cases: Record<string, unknown> = {
    nothing: undefined,
    "a node set": { nodes: { count: 200, prefix: "w-", zones: ["eu-1a"], labels: { "pool/x": "spot" } } },
    "a node list": {
      name: "prod-like",
      kubernetes: "1.35",
      nodes: [
        {
          name: "cp.example.org",
          zone: "a",
          controlPlane: true,
          taints: [{ key: "k", effect: "NoSchedule" }],
        },
        { name: "w", kubeletVersion: "v1.33.5-eks-1a2b3c4", cpu: "500m", memory: "1.5Gi", pods: 250 },
      ],
    },
    times: { podReadySeconds: [5, 7], podTerminationSeconds: [0, 0], nodeMonitorGraceSeconds: 50 },
  };
  it.each(Object.entries(cases))("%s", (_, input) => {
    expect(problemsOf(input)).toEqual([]);
  });
});

describe("refused, each with its path, rule and repair", () => {
  const cases: [what: string, input: unknown, path: string, rule: RegExp, repair: RegExp][] = [
    ["an unknown key", { nmae: "x" }, "nmae", /known are name, kubernetes/u, /did you mean name/u],
    ["an unknown key deep down", { nodes: { count: 1, zone: "a" } }, "nodes.zone", /no such key/u, /zones/u],
    ["1.30 without quotes", { kubernetes: 1.3 }, "kubernetes", /"1.34" or "1.35"/u, /quote it/u],
    [
      "a minor nobody has",
      { kubernetes: "1.36" },
      "kubernetes",
      /"1.34" or "1.35"/u,
      /did you mean "1.3[45]"/u,
    ],
    ["a name with capitals", { name: "Lab" }, "name", /lower case/u, /./u],
    ["a name that is a number", { name: 12 }, "name", /a string/u, /quotes: "12"/u],
    ["no node", { nodes: [] }, "nodes", /./u, /./u],
    ["nodes that are a word", { nodes: "three" }, "nodes", /a list of nodes, or a set/u, /./u],
    ["a node set of none", { nodes: { count: 0 } }, "nodes.count", /./u, /./u],
    ["a node without a name", { nodes: [{ controlPlane: true }] }, "nodes[0].name", /a string/u, /write it/u],
    [
      "a wrong node name",
      { nodes: [{ name: "a_b", controlPlane: true }] },
      "nodes[0].name",
      /RFC 1123/u,
      /./u,
    ],
    ["no control plane", { nodes: [{ name: "a" }] }, "nodes", /control plane/u, /controlPlane: true/u],
    [
      "two nodes of one name",
      { nodes: [{ name: "a", controlPlane: true }, { name: "a" }] },
      "nodes[1].name",
      /nodes\[0\] has this one/u,
      /another name/u,
    ],
    [
      "two nodes of one address",
      {
        nodes: [
          { name: "a", controlPlane: true, address: "10.0.0.1" },
          { name: "b", address: "10.0.0.1" },
        ],
      },
      "nodes[1].address",
      /its own address/u,
      /./u,
    ],
    [
      "a loopback address",
      { nodes: [{ name: "a", controlPlane: true, address: "127.0.0.5" }] },
      "nodes[0].address",
      /outside 127/u,
      /./u,
    ],
    ["a wrong label", { nodes: { count: 1, labels: { x: "a b" } } }, "nodes.labels.x", /label value/u, /./u],
    [
      "a wrong taint effect",
      { nodes: { count: 1, taints: [{ key: "k", effect: "NoShedule" }] } },
      "nodes.taints[0].effect",
      /NoSchedule/u,
      /did you mean "NoSchedule"/u,
    ],
    ["a wrong quantity", { nodes: { count: 1, memory: "8 GB" } }, "nodes.memory", /quantity/u, /./u],
    [
      "a kubelet version without v",
      { nodes: { count: 1, kubeletVersion: "1.34.4" } },
      "nodes.kubeletVersion",
      /v1\.34\.4/u,
      /./u,
    ],
    ["a range upside down", { podReadySeconds: [7, 5] }, "podReadySeconds", /least not above most/u, /./u],
    ["a range of one", { podReadySeconds: [7] }, "podReadySeconds", /least, most/u, /./u],
    ["a range of words", { podReadySeconds: ["a", 1] }, "podReadySeconds[0]", /a number/u, /./u],
    ["a list for a mapping", [], "(top level)", /a mapping/u, /./u],
  ];
  it.each(cases)("%s", (_, input, path, rule, repair) => {
    const found = problemsOf(input).find((problem) => problem.path === path);
    expect(found, JSON.stringify(problemsOf(input))).toBeDefined();
    expect(found?.rule).toMatch(rule);
    expect(found?.repair).toMatch(repair);
  });

  it("tells everything at once", () => {
    const problems = problemsOf({ name: "X", kubernetes: 1.34, nodse: 3, podReadySeconds: [2, 1] });
    expect(problems.map((problem) => problem.path).sort()).toEqual([
      "kubernetes",
      "name",
      "nodse",
      "podReadySeconds",
    ]);
  });

  it("writes one message with path, value, rule and repair", () => {
    expect(() => parseLabConfig({ kubernetes: 1.3 }, "my.yaml")).toThrow(
      /^my\.yaml has 1 problem:\n {2}- kubernetes: 1\.3\n {6}rule: .*\n {6}repair: quote it/u,
    );
  });
});
