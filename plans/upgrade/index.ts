/** The plan `upgrade`: drain and upgrade as artefacts that can be checked. */
import type { Requirement } from "../../analysis/conditions/index.ts";
import { forecastDrain } from "../../analysis/drain-forecast.ts";
import { forecastText } from "../../analysis/forecast-text.ts";
import { STAGE_LABEL } from "../../analysis/rollout.ts";
import type { Inventory } from "../../analysis/inventory.ts";
import type { SteadySpec } from "../../commands/steady.ts";
import type { UpgradeConfig } from "../../config/upgrade.ts";
import { BudgetedWorkload } from "../../components/budgeted-workload.ts";
import { NodeLabels } from "../../components/node-labels.ts";
import type { StageFrame } from "../frame.ts";
import type { PlanMaker } from "../plan.ts";
import type { Stage } from "../stage.ts";
import { settle, type Settings } from "./settings.ts";
import { drainAllowed, FIRST_STAGE, stageLabels, upgradeStages } from "./stages.ts";
import { answerTemplate } from "../../config/skew-template.ts";

export { FIRST_STAGE };

export const makeUpgradePlan: PlanMaker = (config, facts) => {
  const settled = settle(config.upgrade, facts);
  const template = answerTemplate(config.upgrade.skewTemplate, facts.serverVersion);
  const problems = [...(settled.ok ? [] : settled.problems), ...(template.ok ? [] : template.findings)];
  if (!settled.ok || problems.length > 0) return { ok: false, problems };
  const { settings } = settled;
  const { maxSnapshotAgeMinutes: _, ...etcd } = config.upgrade.etcd;
  return {
    ok: true,
    plan: {
      stages: upgradeStages(settings, facts),
      verify: config.upgrade.verify,
      etcd,
      compose: (frame) => {
        compose(frame, settings, etcd);
      },
      undo: (frame, target) => {
        undo(frame, target, settings);
      },
      undoDemands: (undone, target) => undoDemands(undone, target, settings),
      foresee: (stage, inventory) => foresee(stage, inventory, settings),
    },
  };
};

function compose(frame: StageFrame, settings: Settings, etcd: Readonly<Record<string, unknown>>): void {
  const { config, controlPlane, rollout } = settings;
  const { drill } = config;
  switch (frame.stage.name) {
    case FIRST_STAGE:
      frame.command("inventory", {});
      return;
    case "budget": {
      const { node: _, ...workload } = drill;
      const web = new BudgetedWorkload("drill", workload, frame.options);
      frame.checked(web.deployment, web.budget);
      return;
    }
    case "cordon":
      frame.command("cordon", { nodes: [drill.node], artefacts: true }, { nodes: [drill.node] });
      return;
    case "drain":
      frame.command("drain", drainSpec(settings, frame.since, drill.namespace), { nodes: [drill.node] });
      return;
    case "uncordon":
      frame.command("uncordon", { nodes: [drill.node], artefacts: true }, { nodes: [drill.node] });
      return;
    case "plan": {
      const labels = new NodeLabels(
        "rollout",
        { key: STAGE_LABEL, values: stageLabels(settings) },
        frame.options,
      );
      frame.checked(...labels.patches);
      frame.command("plan-documents", {
        target: config.target,
        controlPlane,
        rollout,
        etcdEndpoint: config.etcd.endpoints[0] ?? "",
        ...(config.skewTemplate === undefined ? {} : { skewTemplate: config.skewTemplate }),
      });
      return;
    }
    case "snapshot":
      frame.command("snapshot", { etcd });
      return;
    case "control-plane":
    case "control-plane-others": {
      const first = frame.stage.name === "control-plane";
      const nodes = first ? controlPlane.slice(0, 1) : controlPlane.slice(1);
      afterSnapshot(
        frame,
        settings,
        etcd,
        "upgrade-control-plane",
        { step: first ? "apply" : "node", nodes },
        nodes,
      );
      return;
    }
    default: {
      const nodes = rollout.stages.find((stage) => stage.stage === frame.stage.name)?.nodes ?? [];
      const {
        nodes: _,
        listNamespace: __,
        maxNodesAtOnce: ___,
        ...drain
      } = drainSpec(settings, frame.since, null);
      const ofControlPlane = nodes.filter((node) => controlPlane.includes(node));
      afterSnapshot(
        frame,
        settings,
        etcd,
        "upgrade-nodes",
        { nodes, controlPlane: ofControlPlane, drain },
        nodes,
      );
    }
  }
}

/** An irreversible command, and the snapshot that is taken for it, verified, and handed to it. */
function afterSnapshot(
  frame: StageFrame,
  { config }: Settings,
  etcd: Readonly<Record<string, unknown>>,
  command: string,
  spec: Readonly<Record<string, unknown>>,
  nodes: readonly string[],
): void {
  const snapshot = frame.command("snapshot", { etcd });
  frame.command(
    command,
    {
      ...spec,
      target: config.target,
      machine: config.machine,
      fresh: { maxAgeMinutes: config.etcd.maxSnapshotAgeMinutes, etcd },
      verify: steadyOf(config),
    },
    { irreversible: true, nodes, input: snapshot.stdout, after: [snapshot.resource] },
  );
}

/** What the stages of the drill leave on the node depends on where the way back ends: nobody drains to uncordon. */
function undo(frame: StageFrame, target: Stage, settings: Settings): void {
  const nodes = [settings.config.drill.node];
  if (frame.stage.name === "uncordon" && target.name === "drain") {
    frame.command("drain", drainSpec(settings, frame.since, null), { nodes });
  }
  if (frame.stage.name === "uncordon" && target.name === "cordon") {
    frame.command("cordon", { nodes, artefacts: false }, { nodes });
  }
  if (frame.stage.name === "cordon") frame.command("uncordon", { nodes, artefacts: false }, { nodes });
}

function undoDemands(undone: Stage, target: Stage, { config }: Settings): readonly Requirement[] {
  const drains = undone.name === "uncordon" && target.name === "drain";
  return drains ? [drainAllowed([config.drill.node], config.drain.acknowledge)] : [];
}

/** How a node or an API server is believed to be back. */
function steadyOf({ verify: { gateTimeoutSeconds: _, ...steady } }: UpgradeConfig): SteadySpec {
  return steady;
}

function drainSpec({ config }: Settings, since: number, listNamespace: string | null) {
  return { ...config.drain, nodes: [config.drill.node], since, listNamespace };
}

function foresee(stage: Stage, inventory: Inventory, settings: Settings): readonly string[] {
  const { config, rollout } = settings;
  const nodes =
    stage.name === "drain"
      ? [config.drill.node]
      : rollout.stages.find((one) => one.stage === stage.name)?.nodes;
  if (nodes === undefined) return [];
  const width = stage.name === "drain" ? config.drain.maxNodesAtOnce : 1;
  return forecastText(
    forecastDrain(inventory, nodes, {
      ...config.drain,
      maxNodesAtOnce: width,
      acknowledged: config.drain.acknowledge,
    }),
  );
}
