import { describe, expect, it } from "vitest";
import type { CommandDocument } from "../../commands/document.ts";
import { BudgetedWorkload } from "../../components/budgeted-workload.ts";
import { ClusterCommand } from "../../components/cluster-command.ts";
import { MigrationRecord } from "../../components/migration-record.ts";
import { NodeLabels } from "../../components/node-labels.ts";
import { declare, valueOf, type Declared } from "./mocks.ts";

const document = (more: Partial<CommandDocument> = {}): CommandDocument => ({
  command: "cordon",
  stack: "o/p/s",
  plan: "upgrade",
  stage: "cordon",
  irreversible: false,
  history: false,
  cluster: { kubeconfig: "~/.kube/config", context: "prod" },
  bound: { clusterUid: "uid", nodes: {} },
  out: "out",
  spec: { nodes: ["a"] },
  ...more,
});

function named(declared: readonly Declared[], name: string): Declared {
  const found = declared.find((one) => one.name === name && !one.type.startsWith("cluster-migration:"));
  if (found === undefined)
    throw new Error(`${name} was not declared: ${declared.map((one) => one.name).join()}`);
  return found;
}

describe("ClusterCommand", () => {
  const command = (more: Partial<CommandDocument> = {}, input?: string) =>
    declare(
      () =>
        new ClusterCommand("cordon-cordon", {
          document: document(more),
          triggers: ["cordon", 3],
          ...(input === undefined ? {} : { input }),
        }),
    );

  it("hands over the document as it is, and its triggers", async () => {
    const { inputs } = named((await command()).declared, "cordon-cordon");
    expect(JSON.parse(String(inputs["stdin"]))).toEqual(document());
    expect(inputs["triggers"]).toEqual(["cordon", 3]);
    expect(inputs["logging"]).toBe("stderr");
    expect(inputs["environment"]).toEqual({});
  });

  it("runs the same on every machine: no path of this one, nothing to undo by itself", async () => {
    const { inputs } = named((await command()).declared, "cordon-cordon");
    expect(String(inputs["create"])).toMatch(/exec node commands\/main\.ts$/);
    expect(JSON.stringify(inputs)).not.toContain(process.cwd());
    expect(inputs).not.toHaveProperty("delete");
    expect(inputs).not.toHaveProperty("update");
  });

  it("is bound to what an earlier command printed", async () => {
    const { inputs } = named((await command({}, '{"facts":{}}')).declared, "cordon-cordon");
    expect(inputs["environment"]).toEqual({ CLUSTER_MIGRATION_INPUT: '{"facts":{}}' });
  });

  it("never runs again as history, whatever changes", async () => {
    const present = named((await command()).declared, "cordon-cordon");
    expect(present.ignoreChanges).toEqual([]);
    const past = named((await command({ history: true })).declared, "cordon-cordon");
    const inputs = Object.keys(past.inputs);
    expect(past.ignoreChanges).toEqual(expect.arrayContaining(inputs));
    expect(past.ignoreChanges).toEqual(
      expect.arrayContaining(["update", "delete", "environment", "triggers"]),
    );
  });

  it("gives its evidence on, and a resource to wait for", async () => {
    const { made } = await command();
    expect(await valueOf(made.evidence)).toMatchObject({
      file: "evidence/cordon-cordon.json",
      sha256: "abc",
    });
    expect(await valueOf(made.resource.urn)).toContain("command:local:Command::cordon-cordon");
  });
});

describe("BudgetedWorkload", () => {
  const args = { namespace: "ops-upgrade", name: "web", image: "pause:3.10", replicas: 3, minAvailable: 2 };
  const workload = () => declare(() => new BudgetedWorkload("drill", args));

  it("is a namespace, a Deployment and a budget with minAvailable and no maxUnavailable", async () => {
    const { declared } = await workload();
    expect(named(declared, "drill-namespace").inputs["metadata"]).toMatchObject({ name: "ops-upgrade" });
    const budget = named(declared, "drill-budget").inputs;
    expect(budget["metadata"]).toEqual({ name: "web-pdb", namespace: "ops-upgrade" });
    expect(budget["spec"]).toEqual({ minAvailable: 2, selector: { matchLabels: { app: "web" } } });
  });

  it("selects with the budget exactly the pods of the Deployment", async () => {
    const { declared } = await workload();
    const spec = named(declared, "drill-deployment").inputs["spec"] as {
      replicas: number;
      selector: unknown;
      template: { metadata: { labels: unknown }; spec: { containers: { image: string }[] } };
    };
    expect(spec.replicas).toBe(3);
    expect(spec.selector).toEqual({ matchLabels: { app: "web" } });
    expect(spec.template.metadata.labels).toEqual({ app: "web" });
    expect(spec.template.spec.containers.map((one) => one.image)).toEqual(["pause:3.10"]);
  });

  it("never has pods without a budget: namespace, budget, Deployment", async () => {
    const { declared } = await workload();
    expect(named(declared, "drill-budget").dependsOn).toContain("drill-namespace");
    expect(named(declared, "drill-deployment").dependsOn).toEqual(
      expect.arrayContaining(["drill-namespace", "drill-budget"]),
    );
  });

  it("does not wait for ever for pods that do not become Ready", async () => {
    expect(named((await workload()).declared, "drill-deployment").timeouts.create).not.toBe("");
  });
});

describe("NodeLabels", () => {
  it("owns its label on each node and nothing else", async () => {
    const { declared } = await declare(
      () => new NodeLabels("rollout", { key: "x/stage", values: { a: "canary", b: "batch1" } }),
    );
    const patches = declared.filter((one) => one.type === "kubernetes:core/v1:NodePatch");
    expect(patches.map((one) => [one.name, one.inputs["metadata"]])).toEqual([
      ["rollout-a", { name: "a", labels: { "x/stage": "canary" } }],
      ["rollout-b", { name: "b", labels: { "x/stage": "batch1" } }],
    ]);
    for (const patch of patches)
      expect(Object.keys(patch.inputs).sort()).toEqual(["apiVersion", "kind", "metadata"]);
  });
});

describe("MigrationRecord", () => {
  const record = {
    stack: "o/p/s",
    plan: "upgrade",
    stage: "drain",
    came: "forward" as const,
    undone: [],
    attempt: 4,
    since: 4,
  };

  it.each([true, false])(
    "is written for the next preview to read, protected where it holds: %s",
    async (holds) => {
      const { declared } = await declare(() => new MigrationRecord("record", { record }, { holds }));
      const configMap = named(declared, "record-configmap");
      expect(configMap.inputs["metadata"]).toEqual({ name: "cluster-migration", namespace: "kube-system" });
      expect(JSON.parse((configMap.inputs["data"] as { record: string }).record)).toEqual(record);
      expect(configMap.protect).toBe(holds);
    },
  );
});

describe("the mocks themselves", () => {
  it("do not let pass what nobody named", async () => {
    const { core } = await import("@pulumi/kubernetes");
    await expect(declare(() => new core.v1.Secret("secret", {}))).rejects.toThrow(
      "nobody named kubernetes:core/v1:Secret",
    );
  });
});
