/** What the plan `upgrade` makes of a config and a cluster's nodes. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CONDITIONS } from "../../analysis/conditions/index.ts";
import type { Finding } from "../../analysis/finding.ts";
import type { CarriedFacts } from "../../plans/facts.ts";
import type { Stage } from "../../plans/stage.ts";
import { settle } from "../../plans/upgrade/settings.ts";
import { stageLabels, upgradeStages } from "../../plans/upgrade/stages.ts";
import { config, facts, lab } from "./settings.ts";

function settings(more: Readonly<Record<string, unknown>> = {}, live: CarriedFacts = lab) {
  const settled = settle(config(more), live);
  if (!settled.ok) throw new Error(settled.problems.map((one) => one.message).join("; "));
  return settled.settings;
}

function problems(more: Readonly<Record<string, unknown>>, live: CarriedFacts = lab): readonly Finding[] {
  const settled = settle(config(more), live);
  return settled.ok ? [] : settled.problems;
}

const codes = (findings: readonly Finding[]): string[] => findings.map((one) => one.code);
const stagesOf = (more = {}, live = lab): readonly Stage[] => upgradeStages(settings(more, live), live);
const conditionsOf = (stage: Stage | undefined, where: "gate" | "check"): string[] =>
  (stage?.[where] ?? []).map((one) => one.condition);

describe("settings", () => {
  it("are the source's example for its three nodes", () => {
    const { controlPlane, rollout } = settings();
    expect(controlPlane).toEqual(["lab-node-0"]);
    expect(rollout.stages).toEqual([
      { stage: "canary", nodes: ["lab-node-0"] },
      { stage: "batch1", nodes: ["lab-node-1"] },
      { stage: "batch2", nodes: ["lab-node-2"] },
    ]);
  });

  it("take control plane and rollout from the config where it names them", () => {
    const { controlPlane, rollout } = settings({
      controlPlane: ["lab-node-2", "lab-node-0"],
      rollout: { canary: "lab-node-1", batches: [["lab-node-2", "lab-node-0"]] },
    });
    expect(controlPlane).toEqual(["lab-node-2", "lab-node-0"]);
    expect(rollout.stages.map((one) => one.nodes)).toEqual([["lab-node-1"], ["lab-node-2", "lab-node-0"]]);
  });

  it("refuse a cluster whose control plane nobody names", () => {
    const found = problems({}, facts(["a", "b"], []));
    expect(codes(found)).toEqual(["CONTROL-PLANE-UNKNOWN"]);
    expect(found[0]?.subject).toBe("cluster-migration:upgrade.controlPlane");
  });

  it("refuse a list of the control plane that leaves a machine out or repeats one", () => {
    const live = facts(["a", "b", "c"], ["a", "b"]);
    const found = problems({ controlPlane: ["a", "a"] }, live);
    expect(codes(found)).toEqual(["CONTROL-PLANE-LIST", "CONTROL-PLANE-LIST"]);
    expect(found[0]).toMatchObject({
      subject: "cluster-migration:upgrade.controlPlane[1]",
      message: "repeats 'a'",
    });
    expect(found[1]?.message).toContain("leaves out 'b'");
  });

  it("refuse a cluster without nodes in one message", () => {
    expect(codes(problems({}, facts([], [])))).toEqual(["CONTROL-PLANE-UNKNOWN", "ROLLOUT-IMPOSSIBLE"]);
  });

  it.each([
    ["misses a node", { canary: "lab-node-0", batches: [["lab-node-1"]] }, "ROLLOUT-MISSING", /lab-node-2/],
    [
      "repeats a node",
      { canary: "lab-node-0", batches: [["lab-node-1", "lab-node-2"], ["lab-node-0"]] },
      "ROLLOUT-REPEATED",
      /lab-node-0/,
    ],
    [
      "names a node that does not exist",
      { canary: "lab-node-0", batches: [["lab-node-1", "lab-node-2", "lab-node-3"]] },
      "ROLLOUT-UNKNOWN",
      /lab-node-3/,
    ],
    ["names an unknown canary", { canary: "lab-node-9" }, "ROLLOUT-IMPOSSIBLE", /upgrade\.rollout$/],
    ["asks for more nodes than there are", { batchSizes: [1, 5] }, "ROLLOUT-IMPOSSIBLE", /upgrade\.rollout$/],
    [
      "gives batches without a canary",
      { batches: [["lab-node-1"]] },
      "ROLLOUT-IMPOSSIBLE",
      /upgrade\.rollout$/,
    ],
    [
      "gives both batches and sizes",
      { canary: "lab-node-0", batches: [["lab-node-1"]], batchSizes: [1] },
      "ROLLOUT-IMPOSSIBLE",
      /upgrade\.rollout$/,
    ],
  ])("refuse a rollout that %s", (_, rollout, code, subject) => {
    const found = problems({ rollout });
    expect(codes(found)).toContain(code);
    const one = found.find((finding) => finding.code === code);
    expect(one?.subject).toMatch(/^cluster-migration:upgrade\.rollout/);
    expect(one?.subject).toMatch(subject);
    expect(one?.repair).not.toBe("");
  });

  it("report what is wrong with the control plane and with the rollout together", () => {
    const found = problems({ rollout: { canary: "nobody" } }, facts(["a", "b"], []));
    expect(codes(found)).toEqual(["CONTROL-PLANE-UNKNOWN", "ROLLOUT-IMPOSSIBLE"]);
  });
});

describe("stages of the source's example", () => {
  it("are these, in this order", () => {
    expect(stagesOf().map((one) => one.name)).toEqual([
      "inventory",
      "budget",
      "cordon",
      "drain",
      "uncordon",
      "plan",
      "snapshot",
      "control-plane",
      "canary",
      "batch1",
      "batch2",
    ]);
  });

  it("can be undone up to the control plane, and not from there on", () => {
    const undoable = stagesOf().map((one) => one.undo.possible);
    expect(undoable).toEqual([true, true, true, true, true, true, true, false, false, false, false]);
  });

  it("demand of a batch that every stage of the rollout before it is verified", () => {
    const batch2 = stagesOf().find((one) => one.name === "batch2");
    const before = batch2?.gate.filter((one) => one.condition === "kubelet-version").map((one) => one.with);
    expect(before).toEqual([
      { nodes: ["lab-node-0"], version: "v1.35.4" },
      { nodes: ["lab-node-1"], version: "v1.35.4" },
    ]);
  });

  it("drain only with a budget on what is drained", () => {
    const drain = stagesOf().find((one) => one.name === "drain");
    expect(conditionsOf(drain, "gate")).toEqual(expect.arrayContaining(["budget-present", "drain-allowed"]));
  });

  it("bind every stage after the inventory to the nodes that were seen in it", () => {
    for (const stage of stagesOf().slice(1)) {
      const reviewed = stage.gate.find((one) => one.condition === "nodes-as-reviewed");
      expect(reviewed?.with, stage.name).toMatchObject({ nodes: { "lab-node-0": "uid-lab-node-0" } });
    }
  });

  it("name the config path of every node that the config names", () => {
    const [first] = stagesOf({ controlPlane: ["lab-node-0"] });
    const exist = first?.gate.find((one) => one.condition === "nodes-exist");
    expect(exist?.with).toEqual({
      nodes: [
        { name: "lab-node-1", path: "cluster-migration:upgrade.drill.node" },
        { name: "lab-node-0", path: "cluster-migration:upgrade.controlPlane[0]" },
      ],
    });
  });
});

/** Clusters of up to 40 nodes, 1 to 7 of them control plane, with or without sizes of batches. */
const clusters = fc
  .record({ workers: fc.nat(33), controlPlane: fc.integer({ min: 1, max: 7 }), seed: fc.nat(5) })
  .map(({ workers, controlPlane, seed }) => {
    const names = Array.from({ length: workers + controlPlane }, (_, index) => `node-${index + seed}`);
    const live = facts(names, names.slice(0, controlPlane));
    return { live, more: { drill: { node: names.at(-1) ?? "" } }, controlPlane };
  });

describe("stages of any cluster", () => {
  it("have names of their own, a sentence, a gate and a check", () => {
    fc.assert(
      fc.property(clusters, ({ live, more }) => {
        const stages = stagesOf(more, live);
        expect(new Set(stages.map((one) => one.name)).size).toBe(stages.length);
        for (const stage of stages) {
          expect(stage.does, stage.name).toMatch(/^[A-Z].+\.$/s);
          expect(stage.gate.length, stage.name).toBeGreaterThan(0);
          expect(stage.check.length, stage.name).toBeGreaterThan(0);
          expect(stage.undo.possible ? stage.undo.how : stage.undo.wayBack).not.toBe("");
        }
      }),
    );
  });

  it("have parameters that each condition's own schema takes", () => {
    fc.assert(
      fc.property(clusters, ({ live, more }) => {
        for (const stage of stagesOf(more, live)) {
          for (const requirement of [...stage.gate, ...stage.check]) {
            const parsed = CONDITIONS[requirement.condition].params.safeParse(requirement.with);
            expect(parsed.success, `${stage.name}: ${requirement.condition}`).toBe(true);
            expect(requirement.says).not.toBe("");
          }
        }
      }),
    );
  });

  it("demand a healthy etcd, reviewed nodes, and side effects told, before what cannot be undone", () => {
    fc.assert(
      fc.property(clusters, ({ live, more }) => {
        for (const stage of stagesOf(more, live).filter((one) => !one.undo.possible)) {
          expect(conditionsOf(stage, "gate"), stage.name).toEqual(
            expect.arrayContaining([
              "nodes-as-reviewed",
              "nodes-ready",
              "only-cordoned",
              "workloads-ready",
              "budgets-healthy",
              "etcd-healthy",
            ]),
          );
          expect(stage.sideEffects.length, stage.name).toBeGreaterThan(0);
        }
      }),
    );
  });

  it("never come back to a stage that can be undone after one that cannot", () => {
    fc.assert(
      fc.property(clusters, ({ live, more }) => {
        const undoable = stagesOf(more, live).map((one) => one.undo.possible);
        expect(undoable.lastIndexOf(true)).toBeLessThan(undoable.indexOf(false));
      }),
    );
  });

  it("upgrade the rest of the control plane before any kubelet, exactly where there is a rest", () => {
    fc.assert(
      fc.property(clusters, ({ live, more, controlPlane }) => {
        const names = stagesOf(more, live).map((one) => one.name);
        expect(names.includes("control-plane-others")).toBe(controlPlane > 1);
        const before = names.slice(0, names.indexOf("canary"));
        expect(before.at(-1)).toBe(controlPlane > 1 ? "control-plane-others" : "control-plane");
      }),
    );
  });

  it("label every node once, with the stage that upgrades it", () => {
    fc.assert(
      fc.property(clusters, ({ live, more }) => {
        const made = settings(more, live);
        const labels = stageLabels(made);
        expect(Object.keys(labels).sort()).toEqual(live.nodes.map((node) => node.name).sort());
        expect(Object.values(labels).filter((value) => value === "canary")).toHaveLength(1);
      }),
    );
  });
});
