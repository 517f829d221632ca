/** What the program declares at each stage, on the way forward and on the way back. */
import { describe, expect, it } from "vitest";
import type { StageRecord } from "../../analysis/stage-record.ts";
import type { CommandDocument } from "../../commands/document.ts";
import type { StackConfig } from "../../config/stack.ts";
import { composeStack } from "../../plans/compose.ts";
import { makeUpgradePlan } from "../../plans/upgrade/index.ts";
import { config as upgrade, lab } from "../plans/settings.ts";
import { declare, valueOf, type Declared } from "./mocks.ts";

const STACK = "o/cluster-migration/lab";

const config: StackConfig = {
  plan: "upgrade",
  stage: "inventory",
  cluster: { name: "lab", kubeconfig: "kubeconfig", context: "lab" },
  out: "out",
  upgrade: upgrade(),
};

const made = makeUpgradePlan(config, lab);
if (!made.ok) throw new Error("the example is no plan");
const { plan } = made;
const STAGES = plan.stages.map((stage) => stage.name);

/** Each program is composed once: tests only look at it. */
const composed = new Map<string, ReturnType<typeof composeAnew>>();

function compose(stage: string, more: Partial<StageRecord> = {}): ReturnType<typeof composeAnew> {
  const key = JSON.stringify([stage, more]);
  const known = composed.get(key) ?? composeAnew(stage, more);
  composed.set(key, known);
  return known;
}

async function composeAnew(stage: string, more: Partial<StageRecord>, settled = false) {
  const record: StageRecord = {
    stack: STACK,
    plan: "upgrade",
    stage,
    came: "forward",
    undone: [],
    attempt: 5,
    since: 5,
    ...more,
  };
  const { made: outputs, declared } = await declare(() =>
    composeStack({
      config,
      stack: STACK,
      plan,
      target: STAGES.indexOf(stage),
      settled,
      record,
      facts: lab,
    }),
  );
  return { outputs, declared, commands: commandsOf(declared), resources: resourcesOf(declared) };
}

interface Command {
  readonly name: string;
  readonly document: CommandDocument;
  readonly declared: Declared;
}

const commandsOf = (declared: readonly Declared[]): Command[] =>
  declared
    .filter((one) => one.type === "command:local:Command")
    .map((one) => ({
      name: one.name,
      document: JSON.parse(String(one.inputs["stdin"])) as CommandDocument,
      declared: one,
    }));

/** What stands on the cluster. */
const resourcesOf = (declared: readonly Declared[]): string[] =>
  declared.filter((one) => one.type.startsWith("kubernetes:")).map((one) => one.name);

const find = (commands: readonly Command[], name: string): Command => {
  const found = commands.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no command ${name} in ${commands.map((one) => one.name).join()}`);
  return found;
};

/** Components whose children wait by themselves. */
const STANDING = ["BudgetedWorkload", "NodeLabels", "MigrationRecord"].map(
  (name) => `cluster-migration:index:${name}`,
);

/** Whether `later` waits for `earlier`, over any number of steps. A command waits for what its component waits for. */
function waitsFor(declared: readonly Declared[], later: string, earlier: string): boolean {
  const direct = (name: string): readonly string[] =>
    declared
      .filter((one) => one.name === name && !STANDING.includes(one.type))
      .flatMap((one) => one.dependsOn);
  const seen = new Set<string>();
  const todo = [later];
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    for (const next of direct(name)) {
      if (next === earlier) return true;
      if (!seen.has(next)) todo.push(next);
      seen.add(next);
    }
  }
  return false;
}

describe("on the way forward", () => {
  it.each(STAGES)(
    "%s: its own commands run, those before it are history, none of a later one is there",
    async (stage) => {
      const { commands } = await compose(stage);
      const reached = STAGES.indexOf(stage);
      for (const one of commands) {
        const at = STAGES.indexOf(one.document.stage);
        expect(at, one.name).toBeLessThanOrEqual(reached);
        expect(one.document.history, one.name).toBe(at < reached);
        expect(one.declared.ignoreChanges.length > 0, one.name).toBe(at < reached);
      }
      for (const name of STAGES.slice(0, reached + 1)) {
        find(commands, `${name}-gate`);
        find(commands, `${name}-check`);
      }
    },
  );

  it.each(STAGES)("%s: gate, record, work, check, in this order", async (stage) => {
    const { declared, commands } = await compose(stage);
    expect(waitsFor(declared, "record-configmap", `${stage}-gate`)).toBe(true);
    expect(waitsFor(declared, `${stage}-check`, "record-configmap")).toBe(true);
    const work = commands.filter((one) => one.document.stage === stage && !/-(gate|check)$/.test(one.name));
    for (const one of work) {
      expect(waitsFor(declared, one.name, "record-configmap"), one.name).toBe(true);
      expect(waitsFor(declared, `${stage}-check`, one.name), one.name).toBe(true);
    }
  });

  it.each(STAGES.slice(1))("%s comes after the check of the stage before it", async (stage) => {
    const { declared } = await compose(stage);
    const before = STAGES[STAGES.indexOf(stage) - 1] ?? "";
    expect(waitsFor(declared, `${stage}-gate`, `${before}-check`)).toBe(true);
  });

  it("makes nothing on the cluster but the record in the first stage", async () => {
    expect((await compose("inventory")).resources).toEqual(["record-configmap"]);
  });

  it("keeps what a stage made in all later ones", async () => {
    for (const stage of STAGES.slice(STAGES.indexOf("budget")))
      expect((await compose(stage)).resources, stage).toEqual(
        expect.arrayContaining(["drill-namespace", "drill-budget", "drill-deployment"]),
      );
  });

  it("makes the drill's workload after its gate, and labels nodes from the stage 'plan' on", async () => {
    const { declared } = await compose("budget");
    expect(waitsFor(declared, "drill-namespace", "budget-gate")).toBe(true);
    expect(waitsFor(declared, "budget-check", "drill-deployment")).toBe(true);
    const labels = (resources: readonly string[]) => resources.filter((name) => name.startsWith("rollout-"));
    expect(labels((await compose("uncordon")).resources)).toEqual([]);
    expect(labels((await compose("plan")).resources)).toEqual([
      "rollout-lab-node-0",
      "rollout-lab-node-1",
      "rollout-lab-node-2",
    ]);
  });

  it.each(STAGES.filter((name) => plan.stages.find((one) => one.name === name)?.undo.possible === false))(
    "%s: takes a snapshot of its own, and the irreversible command waits for it and is bound to it",
    async (stage) => {
      const { declared, commands } = await compose(stage);
      const own = commands.filter((one) => one.document.stage === stage && one.document.irreversible);
      expect(own).toHaveLength(1);
      const [command] = own;
      expect(command?.declared.dependsOn).toContain(`${stage}-snapshot`);
      expect(waitsFor(declared, `${stage}-snapshot`, `${stage}-gate`)).toBe(true);
      const environment = command?.declared.inputs["environment"] as Record<string, string>;
      expect(environment["CLUSTER_MIGRATION_INPUT"]).toContain(`evidence/${stage}-snapshot.json`);
      expect(Object.keys(command?.document.bound.nodes ?? {})).not.toEqual([]);
    },
  );

  it("marks nothing irreversible that can be undone", async () => {
    const { commands } = await compose("snapshot");
    expect(commands.filter((one) => one.document.irreversible)).toEqual([]);
  });

  it("runs commands of a stage again when its attempt changes, and only then", async () => {
    const one = find((await compose("cordon")).commands, "cordon-cordon").declared.inputs;
    const other = find((await compose("cordon", { attempt: 6 })).commands, "cordon-cordon").declared.inputs;
    expect(one["triggers"]).toEqual(["cordon", 5]);
    expect(other["triggers"]).toEqual(["cordon", 6]);
    expect({ ...one, triggers: [] }).toEqual({ ...other, triggers: [] });
  });

  it("protects the record in the middle of the plan, and lets the stack go at either end", async () => {
    for (const stage of STAGES) {
      const record = (await compose(stage)).declared.find((one) => one.name === "record-configmap");
      expect(record?.protect, stage).toBe(stage !== STAGES[0] && stage !== STAGES.at(-1));
    }
  });

  it("binds each command to the cluster, and to the nodes it touches", async () => {
    const { commands } = await compose("drain");
    for (const one of commands) expect(one.document.bound.clusterUid, one.name).toBe("cluster-uid");
    expect(find(commands, "drain-drain").document.bound.nodes).toEqual({ "lab-node-1": "uid-lab-node-1" });
  });

  it("gives out stage, attempt, facts and all evidence", async () => {
    const { outputs, commands } = await compose("cordon");
    expect(await valueOf(outputs.stage)).toBe("cordon");
    expect(await valueOf(outputs.attempt)).toBe(5);
    expect(outputs.facts).toBe(lab);
    const evidence = await valueOf(outputs.evidence);
    expect(Object.keys(evidence).sort()).toEqual(commands.map((one) => one.name).sort());
    expect(evidence["cordon-cordon"]).toBe("evidence/cordon-cordon.json sha256:abc");
  });
});

describe("on the way back", () => {
  const back = (stage: string, from: string) =>
    compose(stage, {
      came: "back",
      undone: STAGES.slice(STAGES.indexOf(stage) + 1, STAGES.indexOf(from) + 1).reverse(),
    });

  it.each([
    ["uncordon", "plan", []],
    ["drain", "uncordon", ["undo-uncordon-drain"]],
    ["cordon", "uncordon", ["undo-uncordon-cordon"]],
    ["cordon", "drain", []],
    ["budget", "uncordon", ["undo-cordon-uncordon"]],
    ["inventory", "snapshot", ["undo-cordon-uncordon"]],
  ])("to %s from %s runs what brings the node there, and no more", async (stage, from, expected) => {
    const { declared, commands } = await back(stage, from);
    const undoing = commands.map((one) => one.name).filter((name) => name.startsWith("undo-"));
    expect(undoing).toEqual(expected);
    for (const name of undoing) expect(waitsFor(declared, `${stage}-check`, name)).toBe(true);
  });

  it("begins with a gate of its own and the record", async () => {
    const { declared, commands } = await back("cordon", "uncordon");
    find(commands, "way-back-to-cordon");
    expect(waitsFor(declared, "record-configmap", "way-back-to-cordon")).toBe(true);
    for (const one of commands.filter((command) => command.name.startsWith("undo-")))
      expect(waitsFor(declared, one.name, "record-configmap"), one.name).toBe(true);
  });

  it("runs the check of the stage again, and not its gate nor its work", async () => {
    const { commands } = await back("cordon", "drain");
    expect(find(commands, "cordon-gate").document.history).toBe(true);
    expect(find(commands, "cordon-cordon").document.history).toBe(true);
    expect(find(commands, "cordon-check").document.history).toBe(false);
    expect(find(commands, "cordon-check").declared.ignoreChanges).toEqual([]);
  });

  it("takes the inventory anew", async () => {
    const { commands } = await back("inventory", "budget");
    expect(find(commands, "inventory-inventory").document.history).toBe(false);
  });

  it("no longer declares what the undone stages made", async () => {
    expect((await back("inventory", "budget")).resources).toEqual(["record-configmap"]);
    expect((await back("uncordon", "plan")).resources.filter((name) => name.startsWith("rollout"))).toEqual(
      [],
    );
  });

  it("leaves artefacts of the way forward alone", async () => {
    const { commands } = await back("budget", "uncordon");
    for (const one of commands.filter((command) => command.name.startsWith("undo-"))) {
      const { artefacts, listNamespace } = one.document.spec;
      expect(artefacts === false || listNamespace === null, one.name).toBe(true);
    }
  });
});

const partial = (record: Partial<StageRecord>): Partial<StageRecord> => record;

describe("a settled stack", () => {
  it.each([
    ["entered", partial({})],
    ["returned to", partial({ came: "back", undone: ["uncordon", "drain"] })],
  ])("runs nothing again, whatever a setting says now, where the stage was %s", async (_, more) => {
    const { commands } = await composeAnew("cordon", more, true);
    expect(commands.length).toBeGreaterThan(0);
    for (const { document, declared } of commands) {
      expect(document.history, declared.name).toBe(true);
      expect(declared.ignoreChanges, declared.name).toContain("stdin");
    }
  });
});
