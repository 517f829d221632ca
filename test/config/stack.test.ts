import { describe as group, expect, it } from "vitest";
import { z } from "zod";
import type { Finding } from "../../analysis/finding.ts";
import { parseStackConfig } from "../../config/stack.ts";
import { UpgradeConfig } from "../../config/upgrade.ts";

const NAMESPACE = "cluster-migration";

const UPGRADE = {
  target: "v1.35.4",
  drill: { node: "lab-node-1" },
  etcd: { endpoints: ["https://127.0.0.1:2379"] },
  machine: { exec: ["ssh", "{node}", "sudo"] },
};
const CLUSTER = { name: "prod", kubeconfig: "~/.kube/config", context: "prod" };

type Raw = Readonly<Record<string, string | undefined>>;

/** As the engine hands it over; `undefined` leaves a key out. */
function raw(
  more: Raw = {},
  groups: { readonly upgrade?: unknown; readonly cluster?: unknown } = {},
): Record<string, string> {
  const all: Raw = {
    [`${NAMESPACE}:plan`]: "upgrade",
    [`${NAMESPACE}:stage`]: "inventory",
    [`${NAMESPACE}:cluster`]: JSON.stringify(groups.cluster ?? CLUSTER),
    [`${NAMESPACE}:upgrade`]: JSON.stringify(groups.upgrade ?? UPGRADE),
    ...more,
  };
  return Object.fromEntries(
    Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

function problems(input: Record<string, string>, secrets: readonly string[] = []): readonly Finding[] {
  const parsed = parseStackConfig(input, NAMESPACE, secrets);
  return parsed.ok ? [] : parsed.problems;
}

const upgrade = (more: Readonly<Record<string, unknown>>): Record<string, string> =>
  raw({}, { upgrade: { ...UPGRADE, ...more } });

function only(input: Record<string, string>): Finding {
  const found = problems(input);
  expect(found).toHaveLength(1);
  const [first] = found;
  if (first === undefined) throw new Error("no problem");
  return first;
}

group("a config that is right", () => {
  it("needs no more than this, and fills in the rest", () => {
    const parsed = parseStackConfig(raw(), NAMESPACE);
    expect(parsed).toMatchObject({
      ok: true,
      config: {
        plan: "upgrade",
        stage: "inventory",
        out: "out",
        cluster: CLUSTER,
        upgrade: {
          target: "v1.35.4",
          drill: { namespace: "ops-upgrade", name: "web", replicas: 3, minAvailable: 2 },
          drain: { acknowledge: [], maxNodesAtOnce: 1 },
          verify: { successes: 3 },
        },
      },
    });
  });

  it("leaves the settings of providers alone", () => {
    expect(problems(raw({ "aws:region": "eu-central-1", "kubernetes:context": "x" }))).toEqual([]);
  });

  it.each(["v1.35.4", "1.35.4", "v1.36.0-rc.1"])("takes %s for a target", (target) => {
    expect(problems(upgrade({ target }))).toEqual([]);
  });
});

group("unknown keys", () => {
  it.each([
    ["at the top", raw({ [`${NAMESPACE}:stagee`]: "x" }), "stagee", "stage"],
    ["in the cluster", raw({}, { cluster: { ...CLUSTER, contxt: "x" } }), "cluster.contxt", "context"],
    ["in the plan", upgrade({ tarqet: "v1.36.0" }), "upgrade.tarqet", "target"],
    ["in a group", upgrade({ drain: { timeoutSecond: 5 } }), "upgrade.drain.timeoutSecond", "timeoutSeconds"],
    ["in another group", upgrade({ rollout: { Canary: "a" } }), "upgrade.rollout.Canary", "canary"],
    ["where it belongs elsewhere", upgrade({ verify: { replicas: 1 } }), "upgrade.verify.replicas", null],
    ["that every object has", raw({ [`${NAMESPACE}:toString`]: "x" }), "toString", null],
    [
      "that every object has, deeper",
      upgrade({ etcd: { ...UPGRADE.etcd, constructor: 1 } }),
      "upgrade.etcd.constructor",
      null,
    ],
  ])("%s", (_, input, path, suggestion) => {
    const finding = only(input);
    expect(finding.code).toBe("CONFIG-UNKNOWN-KEY");
    expect(finding.subject).toBe(`${NAMESPACE}:${path}`);
    expect(finding.rule).toMatch(/^known here: \w+/);
    expect(finding.repair).toBe(
      suggestion === null ? "remove it" : `did you mean '${suggestion}'? Otherwise remove it`,
    );
  });
});

group("wrong values", () => {
  it.each<[string, Record<string, string>, string, string]>([
    ["an unquoted 1.30", upgrade({ target: 1.3 }), "upgrade.target", "1.3 is a number, not a text"],
    [
      "a target of a vendor",
      upgrade({ target: "v1.34.1-eks-3abbec1" }),
      "upgrade.target",
      '"v1.34.1-eks-3abbec1" does not fit',
    ],
    ["a target of k3s", upgrade({ target: "v1.33.5+k3s1" }), "upgrade.target", '"v1.33.5+k3s1" does not fit'],
    [
      "a way to the machines that names none of them",
      upgrade({ machine: { exec: ["ssh", "bastion"] } }),
      "upgrade.machine.exec",
      '["ssh","bastion"] does not fit',
    ],
    [
      "a misspelt placeholder",
      upgrade({ machine: { exec: ["ssh", "{node}", "{nod}"] } }),
      "upgrade.machine.exec[2]",
      '"{nod}" does not fit',
    ],
    [
      "successes that do not fit into the time",
      upgrade({ verify: { successes: 5, intervalSeconds: 60, timeoutSeconds: 30 } }),
      "upgrade.verify.timeoutSeconds",
      "30 does not fit",
    ],
    ["a target without patch", upgrade({ target: "1.35" }), "upgrade.target", '"1.35" does not fit'],
    [
      "a target with a line end",
      upgrade({ target: "v1.35.4\n" }),
      "upgrade.target",
      '"v1.35.4\\n" does not fit',
    ],
    [
      "a node that is no name",
      upgrade({ drill: { node: "lab_node" } }),
      "upgrade.drill.node",
      '"lab_node" does not fit',
    ],
    [
      "a text for a number",
      upgrade({ drill: { node: "a", replicas: "3" } }),
      "upgrade.drill.replicas",
      '"3" is a text, not a number',
    ],
    [
      "half a replica",
      upgrade({ drill: { node: "a", replicas: 3.5 } }),
      "upgrade.drill.replicas",
      "3.5 is not a whole number",
    ],
    [
      "nobody available",
      upgrade({ drill: { node: "a", minAvailable: 0 } }),
      "upgrade.drill.minAvailable",
      "0 does not fit",
    ],
    [
      "minAvailable = replicas",
      upgrade({ drill: { node: "a", minAvailable: 3 } }),
      "upgrade.drill.minAvailable",
      "3 does not fit",
    ],
    [
      "minAvailable > replicas",
      upgrade({ drill: { node: "a", replicas: 2, minAvailable: 5 } }),
      "upgrade.drill.minAvailable",
      "5 does not fit",
    ],
    [
      "the default minAvailable with fewer replicas",
      upgrade({ drill: { node: "a", replicas: 2 } }),
      "upgrade.drill.minAvailable",
      "2 does not fit",
    ],
    [
      "a command as text",
      upgrade({ machine: { exec: "ssh {node}" } }),
      "upgrade.machine.exec",
      '"ssh {node}" is a text, not a list',
    ],
    [
      "an empty command",
      upgrade({ machine: { ...UPGRADE.machine, installKubelet: [["a"], []] } }),
      "upgrade.machine.installKubelet[1]",
      "[] does not fit",
    ],
    [
      "an endpoint without scheme",
      upgrade({ etcd: { endpoints: ["127.0.0.1:2379"] } }),
      "upgrade.etcd.endpoints[0]",
      '"127.0.0.1:2379" does not fit',
    ],
    ["no endpoint", upgrade({ etcd: { endpoints: [] } }), "upgrade.etcd.endpoints", "[] does not fit"],
    [
      "an empty batch",
      upgrade({ rollout: { canary: "a", batches: [["b"], []] } }),
      "upgrade.rollout.batches[1]",
      "[] does not fit",
    ],
    [
      "a batch of none",
      upgrade({ rollout: { batchSizes: [1, 0] } }),
      "upgrade.rollout.batchSizes[1]",
      "0 does not fit",
    ],
    [
      "a pod without namespace",
      upgrade({ drain: { acknowledge: ["debug"] } }),
      "upgrade.drain.acknowledge[0]",
      '"debug" does not fit',
    ],
    [
      "no time at all",
      upgrade({ drain: { timeoutSeconds: 0 } }),
      "upgrade.drain.timeoutSeconds",
      "0 does not fit",
    ],
    [
      "two days",
      upgrade({ verify: { timeoutSeconds: 172_800 } }),
      "upgrade.verify.timeoutSeconds",
      "172800 does not fit",
    ],
    [
      "an empty context",
      raw({}, { cluster: { ...CLUSTER, context: "" } }),
      "cluster.context",
      '"" does not fit',
    ],
    [
      "a name in capitals",
      raw({}, { cluster: { ...CLUSTER, name: "Prod" } }),
      "cluster.name",
      '"Prod" does not fit',
    ],
    [
      "a kubeconfig's content for its path",
      raw({}, { cluster: { ...CLUSTER, kubeconfig: "apiVersion: v1\nkind: Config" } }),
      "cluster.kubeconfig",
      '"apiVersion: v1\\nkind: Config" does not fit',
    ],
    ["another plan", raw({ [`${NAMESPACE}:plan`]: "upgrad" }), "plan", '"upgrad" does not fit'],
    ["no stage", raw({ [`${NAMESPACE}:stage`]: "" }), "stage", '"" does not fit'],
    ["no folder", raw({ [`${NAMESPACE}:out`]: "" }), "out", '"" does not fit'],
    ["a text for a group", raw({ [`${NAMESPACE}:cluster`]: "prod" }), "cluster", '"prod" is not an object'],
    [
      "a list for a group",
      raw({ [`${NAMESPACE}:cluster`]: "[]" }),
      "cluster",
      "[] is a list, not a group of settings",
    ],
    [
      "null for a group",
      raw({ [`${NAMESPACE}:upgrade`]: "null" }),
      "upgrade",
      "null is not a group of settings",
    ],
    ["a number for a group", upgrade({ etcd: 3 }), "upgrade.etcd", "3 is a number, not a group of settings"],
  ])("%s", (_, input, path, message) => {
    const finding = only(input);
    expect(finding.code).toBe("CONFIG-VALUE");
    expect(finding.severity).toBe("refuse");
    expect(finding.subject).toBe(`${NAMESPACE}:${path}`);
    expect(finding.message).toBe(message);
  });

  it("tells what an unquoted version became, and the repair", () => {
    const finding = only(upgrade({ target: 1.3 }));
    expect(finding.rule).toContain('"v1.35.4"');
    expect(finding.repair).toContain("YAML reads an unquoted 1.30 as the number 1.3");
  });

  it("tells why minAvailable has to be below replicas", () => {
    const finding = only(upgrade({ drill: { node: "a", minAvailable: 3 } }));
    expect(finding.rule).toContain("the budget allows no eviction");
    expect(finding.repair).toBe("lower minAvailable, or raise replicas");
  });

  it("shows no more than 120 characters of a value", () => {
    const finding = only(raw({}, { cluster: { ...CLUSTER, name: "X".repeat(5_000) } }));
    expect(finding.message.length).toBeLessThan(150);
  });
});

group("missing parts", () => {
  it.each<[string, Record<string, string>, string, string]>([
    ["the plan", raw({ [`${NAMESPACE}:plan`]: undefined }), "plan", "pulumi config set --path 'plan' …"],
    ["the stage", raw({ [`${NAMESPACE}:stage`]: undefined }), "stage", "pulumi config set --path 'stage' …"],
    ["the cluster", raw({ [`${NAMESPACE}:cluster`]: undefined }), "cluster", "--path 'cluster.name' …"],
    [
      "the context",
      raw({}, { cluster: { ...CLUSTER, context: undefined } }),
      "cluster.context",
      "--path 'cluster.context' …",
    ],
    ["the plan's settings", raw({ [`${NAMESPACE}:upgrade`]: undefined }), "upgrade", "docs/upgrade.md"],
    ["a group", upgrade({ drill: undefined }), "upgrade.drill", "--path 'upgrade.drill.node' …"],
    [
      "a setting in a group",
      upgrade({ machine: {} }),
      "upgrade.machine.exec",
      "--path 'upgrade.machine.exec' …",
    ],
  ])("%s", (_, input, path, repair) => {
    const finding = only(input);
    expect(finding.code).toBe("CONFIG-MISSING");
    expect(finding.subject).toBe(`${NAMESPACE}:${path}`);
    expect(finding.message).toBe("is not given");
    expect(finding.repair).toContain(repair);
  });
});

group("secrets", () => {
  it("are refused and never shown", () => {
    const found = problems(raw({}, { cluster: { ...CLUSTER, kubeconfig: "token: hunter2", context: 3 } }), [
      `${NAMESPACE}:cluster`,
      "aws:secretKey",
    ]);
    expect(found.map((one) => [one.code, one.subject])).toEqual([["CONFIG-SECRET", `${NAMESPACE}:cluster`]]);
    expect(JSON.stringify(found)).not.toContain("hunter2");
  });

  it("are the provider's own affair elsewhere", () => {
    expect(problems(raw({ "aws:secretKey": "x" }), ["aws:secretKey"])).toEqual([]);
  });
});

group("several problems at once", () => {
  const input = raw(
    { [`${NAMESPACE}:plam`]: "x", [`${NAMESPACE}:out`]: "" },
    {
      cluster: { name: "prod", kubeconfig: "x" },
      upgrade: { target: 1.3, drill: { nod: "a" }, etcd: {}, machine: { exec: [""] } },
    },
  );

  it("are all reported", () => {
    expect(
      problems(input)
        .map((one) => `${one.code} ${one.subject}`)
        .sort(),
    ).toEqual(
      [
        "CONFIG-UNKNOWN-KEY cluster-migration:plam",
        "CONFIG-VALUE cluster-migration:out",
        "CONFIG-MISSING cluster-migration:cluster.context",
        "CONFIG-VALUE cluster-migration:upgrade.target",
        "CONFIG-UNKNOWN-KEY cluster-migration:upgrade.drill.nod",
        "CONFIG-MISSING cluster-migration:upgrade.drill.node",
        "CONFIG-MISSING cluster-migration:upgrade.etcd.endpoints",
        "CONFIG-VALUE cluster-migration:upgrade.machine.exec",
        "CONFIG-VALUE cluster-migration:upgrade.machine.exec[0]",
      ].sort(),
    );
  });

  it("read well: a path, what is wrong, the rule, the repair, and nothing of the schema's library", () => {
    for (const finding of problems(input)) {
      expect(finding.subject).toMatch(/^cluster-migration:[a-z]+(\.[a-zA-Z]+|\[\d+\])*$/);
      const text = `${finding.message} ${finding.rule} ${finding.repair}`;
      expect(text).not.toMatch(/Invalid (input|string)|Too (small|big)|undefined|ZodError|\/\^/);
      expect(finding.repair).not.toMatch(/cluster-migration:cluster-migration|--path '\./);
      for (const part of [finding.message, finding.rule, finding.repair]) expect(part.trim()).not.toBe("");
    }
  });

  it("name a group once that is not even one", () => {
    const found = problems(raw({ [`${NAMESPACE}:cluster`]: "prod", [`${NAMESPACE}:upgrade`]: "{" }));
    expect(found.map((one) => one.subject)).toEqual([`${NAMESPACE}:cluster`, `${NAMESPACE}:upgrade`]);
  });
});

/** Every setting that is no group, by its path: whatever is wrong with it, the message has to say rule and repair. */
function settings(schema: z.ZodType, path: string): [string, z.ZodType][] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return settings(schema.unwrap() as z.ZodType, path);
  }
  if (schema instanceof z.ZodObject) {
    return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([key, part]) =>
      settings(part, `${path}.${key}`),
    );
  }
  const inner = schema instanceof z.ZodArray ? settings(schema.element as z.ZodType, `${path}[]`) : [];
  return [[path, schema], ...inner];
}

it("every setting of the plan carries its rule and its repair", () => {
  const all = settings(UpgradeConfig, "upgrade");
  expect(all.length).toBeGreaterThan(25);
  for (const [path, schema] of all) {
    const meta = schema.meta() as { rule?: string; repair?: string } | undefined;
    expect([path, meta?.rule ?? "", meta?.repair ?? ""], path).not.toContain("");
  }
});
