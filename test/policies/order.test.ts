/** Rules on the order of a stage: a compliant program, one fault at a time. */
import { describe, expect, test } from "vitest";
import { change, changeComponent, changeDocument, cut, reports } from "./judge.ts";
import { program, raw, resource, TARGET, urn } from "./program.ts";

const rulesOf = (found: readonly { rule: string }[]): string[] => [...new Set(found.map(({ rule }) => rule))];

const canary = await program("canary");
const drain = await program("drain");
const batch2 = await program("batch2");
const back = await program("drain", { undone: ["uncordon"] });

describe("irreversible-needs-snapshot", () => {
  test("no snapshot of its stage before it", () => {
    const found = reports(cut(canary, "canary-upgrade-nodes", /^canary-snapshot$/));
    expect(rulesOf(found)).toEqual(["irreversible-needs-snapshot"]);
    expect(found[0]).toMatchObject({
      at: "canary-upgrade-nodes",
      message: expect.stringContaining("depends on no 'snapshot' command of its stage 'canary'") as string,
    });
    expect(found[0]?.message).toContain("restored etcd snapshot");
  });

  test("a snapshot of another stage does not count", () => {
    const other = changeDocument(canary, "canary-snapshot", (document) => ({ ...document, stage: "batch1" }));
    const found = reports(other).filter(({ rule }) => rule === "irreversible-needs-snapshot");
    expect(found).toHaveLength(1);
  });

  test("a snapshot that was history does not count", () => {
    const old = changeDocument(canary, "canary-snapshot", (document) => ({ ...document, history: true }));
    expect(rulesOf(reports(old))).toContain("irreversible-needs-snapshot");
  });

  test("it comes after the snapshot, and is not bound to what that says", () => {
    const loose = change(canary, "canary-upgrade-nodes", { propertyDependencies: {} });
    expect(reports(loose).map(({ message }) => message.split("\n")[0])).toEqual([
      "command 'canary-upgrade-nodes' cannot be undone, and comes after command 'canary-snapshot' without being bound to its output",
    ]);
  });

  test("nothing is handed to it", () => {
    const bare = change(canary, "canary-upgrade-nodes", (one) => ({
      props: { stdin: one.props["stdin"], triggers: one.props["triggers"] },
    }));
    expect(reports(bare)[0]?.message).toContain(
      "no snapshot is handed to it (environment.CLUSTER_MIGRATION_INPUT)",
    );
  });

  test.each([
    ["none", undefined],
    ["too old", { maxAgeMinutes: 61 }],
    ["zero", { maxAgeMinutes: 0 }],
    ["text", { maxAgeMinutes: "30" }],
  ])("its limit on the snapshot's age is %s", (_, fresh) => {
    const old = changeDocument(canary, "canary-upgrade-nodes", (document) => ({
      ...document,
      spec: { ...document.spec, fresh },
    }));
    expect(reports(old).map(({ rule, message }) => [rule, message.split(" (")[0]])).toEqual([
      [
        "irreversible-needs-snapshot",
        "command 'canary-upgrade-nodes' cannot be undone, and its spec does not limit the snapshot's age to 60 minutes or less",
      ],
    ]);
  });

  test("an upgrade that says it can be undone", () => {
    const lie = changeDocument(canary, "canary-upgrade-nodes", (document) => ({
      ...document,
      irreversible: false,
    }));
    expect(reports(lie)[0]?.message).toContain("its document says `irreversible: false`");
  });

  test("the parts that need no stack are refused before the command runs, also by `up --skip-preview`", () => {
    const found = changeDocument(canary, "canary-upgrade-nodes", (document) => ({ ...document, spec: {} }));
    const alone = found.filter(({ name, custom }) => name === "canary-upgrade-nodes" && custom);
    expect(rulesOf(reports(alone))).toContain("irreversible-needs-snapshot");
  });
});

describe("work-after-gate", () => {
  test("work that does not wait for its gate", () => {
    // Nor for the record, which waits for the gate.
    const found = reports(cut(drain, "drain-drain", /^(drain-gate|record-configmap)$/));
    expect(found[0]).toMatchObject({ rule: "work-after-gate", at: "drain-drain" });
    expect(found[0]?.message).toContain("depends on no gate that runs");
  });

  test("the gate of another stage does not count", () => {
    const other = changeDocument(drain, "drain-gate", (document) => ({ ...document, stage: "cordon" }));
    expect(reports(other).map(({ rule, at }) => `${rule} ${at}`)).toContain("work-after-gate drain-drain");
  });

  test("a gate that never runs again does not count", () => {
    const past = changeDocument(drain, "drain-gate", (document) => ({ ...document, history: true }));
    expect(reports(past).map(({ rule, at }) => `${rule} ${at}`)).toContain("work-after-gate drain-drain");
  });

  test("work before the stage is on record", () => {
    const found = reports(cut(drain, "drain-drain", /^record-configmap$/));
    expect(found.map(({ rule, at }) => [rule, at])).toEqual([["work-after-gate", "drain-drain"]]);
    expect(found[0]?.message).toContain(
      "before the stage is on record (ConfigMap kube-system/cluster-migration)",
    );
  });

  test("a record that is written before the gate has passed", () => {
    const found = reports(cut(drain, "record-configmap", /gate$/));
    expect(found[0]).toMatchObject({ rule: "work-after-gate", at: "record-configmap" });
  });

  test("a check that does not wait for the work", () => {
    const found = reports(cut(drain, "drain-check", /^drain-drain$/));
    expect(found.map(({ rule, at }) => [rule, at])).toEqual([["work-after-gate", "drain-drain"]]);
    expect(found[0]?.message).toContain(
      "command 'drain-check' of stage 'drain' does not depend on command 'drain-drain'",
    );
  });

  test("a stage without a check", () => {
    const found = reports(drain.filter(({ name }) => name !== "drain-check"));
    expect(found.map(({ message }) => message.split(",")[0])).toContain(
      "stage 'drain' has no check that runs",
    );
  });

  test("on the way back: what undoes waits for the way back's gate, and the check waits for it", () => {
    const name = "undo-uncordon-drain";
    expect(back.map((one) => one.name)).toContain(name);
    const early = reports(cut(back, name, /^record-configmap$/));
    expect(early.map(({ rule, at }) => `${rule} ${at}`)).toContain(`work-after-gate ${name}`);
    const unchecked = reports(cut(back, "drain-check", /^undo-/));
    expect(unchecked.map(({ rule, at }) => `${rule} ${at}`)).toContain(`work-after-gate ${name}`);
  });

  test("the gate of a parent counts: a child waits for its parent's dependencies", () => {
    const moved = changeComponent(drain, "drain-drain", { dependencies: [] });
    expect(rulesOf(reports(moved))).toContain("work-after-gate");
  });

  test("a new command that only claims to be history", () => {
    const claimed = cut(
      change(drain, "drain-drain", (one) => ({ opts: { ...one.opts, ignoreChanges: ["*"] } })),
      "drain-drain",
      /./,
    );
    expect(reports(claimed).map(({ rule, at }) => `${rule} ${at}`)).toContain("work-after-gate drain-drain");
  });
});

describe("drain-needs-budget", () => {
  test("a drain on the way back needs it as well: the way back's gate demands it", () => {
    expect(reports(back).map(({ rule }) => rule)).not.toContain("drain-needs-budget");
    const ungatedBack = changeDocument(back, "way-back-to-drain", (document) => ({
      ...document,
      spec: { ...document.spec, requirements: [] },
    }));
    const found = reports(ungatedBack).map(({ rule, at }) => `${rule} ${at}`);
    expect(found).toContain("drain-needs-budget undo-uncordon-drain");
  });

  const ungated = changeDocument(drain, "drain-gate", (document) => ({
    ...document,
    spec: { ...document.spec, requirements: [] },
  }));

  test("a budget in an earlier stage will do", () => {
    expect(reports(ungated)).toEqual([]);
  });

  test("neither a gate that asks nor a budget", () => {
    const found = reports(ungated.filter(({ name }) => name !== "drill-budget"));
    expect(found.map(({ rule, at }) => [rule, at])).toEqual([["drain-needs-budget", "drain-drain"]]);
    expect(found[0]?.message).toContain("the stack has no PodDisruptionBudget over what it drains");
  });

  test.each([
    ["in another namespace", { metadata: { name: "web-pdb", namespace: "elsewhere" } }],
    [
      "that selects no pod of the workload",
      { spec: { minAvailable: 2, selector: { matchLabels: { app: "wob" } } } },
    ],
  ])("a budget %s does not cover it", (_, props) => {
    const other = change(ungated, "drill-budget", (one) => ({ props: { ...one.props, ...props } }));
    expect(reports(other).map(({ rule, at }) => [rule, at])).toEqual([["drain-needs-budget", "drain-drain"]]);
  });

  test("a budget that the drain does not wait for", () => {
    const beside = cut(cut(ungated, "budget-check", /^drill-/), "cordon-gate", /^budget-check$/);
    expect(reports(beside)[0]?.message).toContain(
      "it does not come after PodDisruptionBudget ops-upgrade/web-pdb",
    );
  });

  test("a gate that asks for other nodes than those of a batch", () => {
    const other = changeDocument(canary, "canary-gate", (document) => ({
      ...document,
      spec: {
        ...document.spec,
        requirements: [
          { condition: "drain-allowed", with: { nodes: ["node-9"], acknowledge: [] }, says: "" },
        ],
      },
    }));
    expect(reports(other).map(({ rule, at }) => [rule, at])).toEqual([
      ["drain-needs-budget", "canary-upgrade-nodes"],
    ]);
  });
});

describe("one-canary", () => {
  const withNodes = (views: typeof batch2, name: string, nodes: unknown) =>
    changeDocument(views, name, (document) => ({ ...document, spec: { ...document.spec, nodes } }));

  const found = (views: typeof batch2) =>
    reports(views)
      .filter(({ rule }) => rule === "one-canary")
      .map(({ at, message }) => `${at}: ${message.split("\n")[0] ?? ""}`);

  test("a canary of two nodes, and of none", () => {
    expect(found(withNodes(canary, "canary-upgrade-nodes", ["node-0", "node-1"]))).toEqual([
      "canary-upgrade-nodes: command 'canary-upgrade-nodes': the canary has 2 nodes",
    ]);
    expect(found(withNodes(canary, "canary-upgrade-nodes", []))[0]).toContain("the canary has 0 nodes");
  });

  test("a node in two batches", () => {
    expect(found(withNodes(batch2, "batch2-upgrade-nodes", ["node-1"]))).toEqual([
      "batch2-upgrade-nodes: the rollout's node-1 is in batch1 and batch2",
    ]);
  });

  test("no canary before the batches", () => {
    const without = batch2.filter(({ name }) => name !== "canary-upgrade-nodes");
    expect(found(without)[0]).toContain('is "batch1" where "canary" is due');
  });

  test("a rollout, about to be written down, that leaves a node out", async () => {
    const views = changeDocument(await program("plan"), "plan-plan-documents", (document) => ({
      ...document,
      spec: {
        ...document.spec,
        rollout: { stages: [{ stage: "canary", nodes: ["node-0"] }], verify_between_stages: ["x"] },
      },
    }));
    expect(found(views)).toEqual([
      "plan-plan-documents: command 'plan-plan-documents': the rollout's node-1 is in no stage and would stay at its old version",
      "plan-plan-documents: command 'plan-plan-documents': the rollout's node-2 is in no stage and would stay at its old version",
    ]);
  });
});

describe("batch-after-verified", () => {
  test("a batch that does not wait for the check of the one before", () => {
    const found = reports(cut(batch2, "batch2-gate", /^batch1-check$/));
    expect(found.map(({ rule, at }) => [rule, at])).toEqual([
      ["batch-after-verified", "batch2-upgrade-nodes"],
    ]);
    expect(found[0]?.message).toContain("does not come after the check of stage 'batch1'");
  });

  test("a canary that does not wait for the control plane, or for a part of it", async () => {
    expect(rulesOf(reports(cut(canary, "canary-gate", /-check$/)))).toEqual(["batch-after-verified"]);
    const two = await program("canary", { upgrade: { controlPlane: ["node-0", "node-1"] } });
    const found = reports(cut(two, "canary-gate", /^control-plane-others-check$/));
    expect(found.map(({ message }) => /stage '[a-z-]+'/.exec(message)?.[0])).toEqual([
      "stage 'control-plane'",
      "stage 'control-plane-others'",
    ]);
  });

  test("kubelets in a stack that never upgrades the control plane", () => {
    const none = canary.filter(({ name }) => name !== "control-plane-upgrade-control-plane");
    expect(reports(none)[0]?.message).toContain("no stage of this stack upgrades the control plane");
  });

  test("nodes upgraded in a stage of another name", () => {
    const odd = changeDocument(canary, "canary-upgrade-nodes", (document) => ({
      ...document,
      stage: "snapshot",
    }));
    expect(reports(odd).map(({ message }) => message)).toContainEqual(
      expect.stringContaining("which is neither canary nor batch1, batch2"),
    );
  });
});

describe("one-minor-at-a-time", () => {
  const withTarget = (target: string) =>
    changeDocument(canary, "canary-upgrade-nodes", (document) => ({
      ...document,
      spec: { ...document.spec, target },
    }));
  const everywhere = (target: string) =>
    canary.map((one) =>
      typeof one.props["stdin"] === "string"
        ? resource({
            ...one,
            props: { ...raw(one.props), stdin: one.props["stdin"].replaceAll(TARGET, target) },
          })
        : one,
    );

  test("two targets", () => {
    const found = reports(withTarget("v1.35.3"));
    expect(found.map(({ rule, at }) => [rule, at])).toEqual([
      ["one-minor-at-a-time", "canary-upgrade-nodes"],
    ]);
    expect(found[0]?.message).toContain("is for v1.35.3, while command 'canary-gate' is for v1.35.4");
  });

  test.each([
    ["v1.36.3", "v1.36.3 skips 1 minor(s) from v1.34.4"],
    ["v1.33.9", "v1.33.9 is older than v1.34.4"],
    ["latest", "latest"],
  ])("the target %s, against what was reviewed", (target, message) => {
    const found = reports(everywhere(target));
    expect(rulesOf(found)).toEqual(["one-minor-at-a-time"]);
    expect(found[0]?.message).toContain(message);
  });

  test("a pre-release is advised against, a vendor's mark is not", () => {
    expect(reports(everywhere("v1.35.0-rc.1"), "advisory").map(({ rule }) => rule)).toEqual([
      "target-is-a-release",
    ]);
    expect(reports(everywhere("v1.35.4+k3s1"), "advisory")).toEqual([]);
    expect(reports(everywhere("v1.35.4+k3s1"))).toEqual([]);
  });
});

describe("record-is-protected", () => {
  const unprotected = async (stage: string) =>
    change(await program(stage), "record-configmap", (one) => ({ opts: { ...one.opts, protect: false } }));

  test.each(["budget", "plan", "control-plane", "batch1"])("in the middle, at %s", async (stage) => {
    const found = reports(await unprotected(stage));
    expect(found.map(({ rule, at }) => [rule, at])).toEqual([["record-is-protected", "record-configmap"]]);
    expect(found[0]?.message).toContain(`at stage '${stage}', in the middle of plan 'upgrade'`);
  });

  test("not at either end", async () => {
    expect(reports(await unprotected("inventory"))).toEqual([]);
    expect(reports(await unprotected("batch2"))).toEqual([]);
  });
});

describe("no-empty-barrier", () => {
  const command = resource({ urn: urn("aws:autoscaling/group:Group", "new-nodes") });
  const gate = resource({
    urn: urn("app:index:Gate", "gate"),
    custom: false,
    dependencies: [command.urn],
  });

  test("a component that waits and holds nothing", () => {
    const found = reports([command, gate]);
    expect(found.map(({ rule, at }) => [rule, at])).toEqual([["no-empty-barrier", "gate"]]);
    expect(found[0]?.message).toContain("component 'gate' (app:index:Gate) holds no resource");
  });

  test("a component in it that is empty too does not help; a resource anywhere below does", () => {
    const inner = resource({
      urn: urn("app:index:Gate$app:index:Inner", "inner"),
      custom: false,
      parent: gate.urn,
    });
    expect(reports([command, gate, inner]).map(({ at }) => at)).toEqual(["gate"]);
    const real = resource({ urn: urn("app:index:Inner$x:y:Z", "real"), parent: inner.urn });
    expect(reports([command, gate, inner, real])).toEqual([]);
  });

  test("one that waits for nothing gets advice", () => {
    const idle = resource({ ...gate, dependencies: [] });
    expect(reports([idle])).toEqual([]);
    expect(reports([idle], "advisory").map(({ rule }) => rule)).toEqual(["no-empty-component"]);
  });

  test("providers, stacks and stack references are no components", () => {
    const others = ["pulumi:providers:aws", "pulumi:pulumi:Stack", "pulumi:pulumi:StackReference"].map(
      (type) => resource({ urn: urn(type, "x"), custom: false, dependencies: [command.urn] }),
    );
    expect(reports([command, ...others])).toEqual([]);
  });
});
