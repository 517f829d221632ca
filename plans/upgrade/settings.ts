/** What the plan's config means for one cluster: names filled in from its nodes. Pure. */
import type { Finding } from "../../analysis/finding.ts";
import {
  checkRollout,
  planRollout,
  RolloutError,
  type Rollout,
  type RolloutStage,
} from "../../analysis/rollout.ts";
import type { UpgradeConfig } from "../../config/upgrade.ts";
import type { CarriedFacts } from "../facts.ts";

export interface Settings {
  readonly config: UpgradeConfig;
  /** Machines of the control plane, in the order in which they are upgraded. */
  readonly controlPlane: readonly string[];
  readonly rollout: Rollout;
}

/** Settings, or everything that is wrong with the config on these nodes. */
export function settle(
  config: UpgradeConfig,
  facts: CarriedFacts,
):
  | { readonly ok: true; readonly settings: Settings }
  | { readonly ok: false; readonly problems: readonly Finding[] } {
  const names = facts.nodes.map((node) => node.name);
  const problems: Finding[] = [];
  const controlPlane =
    config.controlPlane ?? facts.nodes.filter((node) => node.controlPlane).map((node) => node.name);
  if (controlPlane.length === 0) {
    problems.push({
      code: "CONTROL-PLANE-UNKNOWN",
      severity: "refuse",
      subject: "cluster-migration:upgrade.controlPlane",
      message: "no node carries the label node-role.kubernetes.io/control-plane, and the config names none",
      rule: "the machines of the control plane are upgraded first, the first of them by `kubeadm upgrade apply`",
      repair: "name them in order: pulumi config set --path 'upgrade.controlPlane[0]' NODE",
    });
  }
  problems.push(...controlPlaneFindings(config, facts));
  const rollout = plan(config, facts, problems);
  if (rollout === null) return { ok: false, problems };
  problems.push(
    ...checkRollout(rollout, names).map((finding) => ({
      ...finding,
      subject: `cluster-migration:upgrade.rollout: ${finding.subject}`,
    })),
  );
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, settings: { config, controlPlane, rollout } };
}

/** A list in the config is the whole control plane, each machine once. */
function controlPlaneFindings({ controlPlane }: UpgradeConfig, facts: CarriedFacts): Finding[] {
  if (controlPlane === undefined) return [];
  const finding = (subject: string, message: string, rule: string, repair: string): Finding => ({
    code: "CONTROL-PLANE-LIST",
    severity: "refuse",
    subject: `cluster-migration:upgrade.controlPlane${subject}`,
    message,
    rule,
    repair,
  });
  const repeated = controlPlane.flatMap((name, index) =>
    controlPlane.indexOf(name) < index
      ? [finding(`[${index}]`, `repeats '${name}'`, "each machine of the control plane once", "remove it")]
      : [],
  );
  const left = facts.nodes.filter((node) => node.controlPlane && !controlPlane.includes(node.name));
  const missing = left.map(({ name }) =>
    finding(
      "",
      `leaves out '${name}', which carries the label node-role.kubernetes.io/control-plane`,
      "a control plane is upgraded on all of its machines before any kubelet: no kubelet may be newer than an API server",
      `pulumi config set --path 'upgrade.controlPlane[${controlPlane.length}]' ${name}`,
    ),
  );
  return [...repeated, ...missing];
}

/** Null, and a problem, where no rollout can be made at all. */
function plan(config: UpgradeConfig, facts: CarriedFacts, problems: Finding[]): Rollout | null {
  const { canary, batches, batchSizes } = config.rollout;
  const nodes = facts.nodes.map(({ name }) => ({ name, controlPlane: isControlPlane(config, facts, name) }));
  try {
    return planRollout(nodes, {
      ...(canary === undefined ? {} : { canary }),
      ...(batches === undefined ? {} : { lists: batches }),
      ...(batchSizes === undefined ? {} : { sizes: batchSizes }),
    });
  } catch (error) {
    if (!(error instanceof RolloutError)) throw error;
    problems.push({
      code: "ROLLOUT-IMPOSSIBLE",
      severity: "refuse",
      subject: "cluster-migration:upgrade.rollout",
      message: error.message,
      rule: "a canary of one node, then batches that hold every other node once",
      repair: "name a canary and the batches, or their sizes, or neither",
    });
    return null;
  }
}

function isControlPlane(config: UpgradeConfig, facts: CarriedFacts, name: string): boolean {
  return (
    config.controlPlane?.includes(name) ?? facts.nodes.some((node) => node.name === name && node.controlPlane)
  );
}

/** Stages of the rollout that come before this one. */
export function rolloutBefore(settings: Settings, stage: string): readonly RolloutStage[] {
  const index = settings.rollout.stages.findIndex((one) => one.stage === stage);
  return settings.rollout.stages.slice(0, index === -1 ? settings.rollout.stages.length : index);
}
