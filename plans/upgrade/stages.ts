/** The stages of the plan `upgrade`, as data. */
import type { ArtefactExpectation } from "../../analysis/conditions/artefact.ts";
import type { Requirement } from "../../analysis/conditions/index.ts";
import { STAGE_LABEL, type RolloutStage } from "../../analysis/rollout.ts";
import type { CarriedFacts } from "../facts.ts";
import type { Stage } from "../stage.ts";
import { rolloutBefore, type Settings } from "./settings.ts";

/** Takes the inventory that all later stages are bound to. */
export const FIRST_STAGE = "inventory";

const SNAPSHOT_IS_THE_WAY_BACK =
  "none by Kubernetes, which supports no downgrade: restore the etcd snapshot taken in this stage (docs/upgrade.md, 'The way back')";

const nodesReady: Requirement = { condition: "nodes-ready", with: {}, says: "every node is Ready" };
const workloadsReady: Requirement = {
  condition: "workloads-ready",
  with: {},
  says: "every workload has all its Ready pods",
};
const budgetsHealthy: Requirement = {
  condition: "budgets-healthy",
  with: {},
  says: "no disruption budget is broken",
};

const onlyCordoned = (...allowed: readonly string[]): Requirement => ({
  condition: "only-cordoned",
  with: { allowed: [...allowed] },
  says: allowed.length === 0 ? "every node is schedulable" : `no node but ${allowed.join(", ")} is cordoned`,
});

const artefact = (expectation: ArtefactExpectation): Requirement => ({
  condition: "artefact",
  with: expectation,
  says: `${expectation.name} is there and right`,
});

export const drainAllowed = (nodes: readonly string[], acknowledge: readonly string[]): Requirement => ({
  condition: "drain-allowed",
  with: { nodes: [...nodes], acknowledge: [...acknowledge] },
  says: `every pod on ${nodes.join(", ")} may be evicted, and no budget forbids it for good`,
});

export function upgradeStages(settings: Settings, facts: CarriedFacts): readonly Stage[] {
  const { config, controlPlane, rollout } = settings;
  const { drill, target } = config;
  const reviewed: Requirement = {
    condition: "nodes-as-reviewed",
    with: { nodes: Object.fromEntries(facts.nodes.map((node) => [node.name, node.uid])), target },
    says: "the nodes are those of the inventory",
  };
  const web = { namespace: drill.namespace, name: drill.name };
  const workload: Requirement = {
    condition: "workload-ready",
    with: { ...web, kind: "Deployment", replicas: drill.replicas },
    says: `Deployment ${drill.namespace}/${drill.name} has ${drill.replicas} Ready pods`,
  };
  const budget: Requirement = {
    condition: "budget-present",
    with: { namespace: drill.namespace, name: `${drill.name}-pdb`, minAvailable: drill.minAvailable },
    says: `PodDisruptionBudget ${drill.name}-pdb keeps ${drill.minAvailable} available`,
  };
  const empty: Requirement = {
    condition: "node-empty",
    with: { nodes: [drill.node], acknowledge: config.drain.acknowledge },
    says: `nothing is left to evict on ${drill.node}`,
  };
  const path: Requirement = {
    condition: "upgrade-path",
    with: { target },
    says: `${target} is one step that the version-skew policy supports`,
  };
  const servers = (nodes: readonly string[]): Requirement => ({
    condition: "control-plane-version",
    with: { nodes: [...nodes], version: target },
    says: `the API server of ${nodes.join(", ")} is at ${target}`,
  });
  const etcd: Requirement = {
    condition: "etcd-healthy",
    with: { endpoints: [...config.etcd.endpoints] },
    says: "every etcd member answers, healthy, a voter of one cluster",
  };
  const skew: Requirement = {
    condition: "skew-supported",
    with: {},
    says: "every kubelet is within the version-skew policy",
  };

  const standing = [nodesReady, onlyCordoned(), skew, workloadsReady, budgetsHealthy, etcd];
  const free: Requirement = {
    condition: "namespace-own",
    with: { namespace: drill.namespace },
    says: `namespace ${drill.namespace} is free, or of this plan`,
  };

  const kubelets = (stage: RolloutStage): Requirement => ({
    condition: "kubelet-version",
    with: { nodes: [...stage.nodes], version: target },
    says: `${stage.stage} (${stage.nodes.join(", ")}) reports kubelet ${target}`,
  });

  return [
    {
      name: FIRST_STAGE,
      does: "Reads the versions of the API server and of every kubelet, and binds the plan to this cluster's and its nodes' identities.",
      gate: [
        {
          condition: "nodes-exist",
          with: { nodes: namedNodes(settings) },
          says: "every node that the config names is there",
        },
        path,
      ],
      check: [artefact({ name: "versions.json" })],
      undo: { possible: true, how: "nothing was changed" },
      rereads: true,
      sideEffects: [],
    },
    {
      name: "budget",
      does: `Makes namespace ${drill.namespace} with Deployment ${drill.name} (${drill.replicas} replicas) and its disruption budget (minAvailable ${drill.minAvailable}).`,
      gate: [reviewed, nodesReady, onlyCordoned(), free],
      check: [workload, budget],
      undo: { possible: true, how: `namespace ${drill.namespace} and all in it are deleted` },
      sideEffects: [],
    },
    {
      name: "cordon",
      does: `Cordons ${drill.node}.`,
      gate: [reviewed, nodesReady, onlyCordoned(drill.node), workload, budget],
      check: [
        { condition: "cordoned", with: { nodes: [drill.node] }, says: `${drill.node} is cordoned` },
        onlyCordoned(drill.node),
        artefact({ name: "cordon.txt", node: drill.node }),
        artefact({ name: "cordon-note.txt" }),
      ],
      undo: { possible: true, how: `${drill.node} is uncordoned` },
      sideEffects: [
        `new pods find one node less: what needs ${drill.node} (its zone, its volumes) stays Pending until it is back`,
      ],
    },
    {
      name: "drain",
      does: `Drains ${drill.node} through the eviction API, at the pace that the budgets allow.`,
      gate: [
        reviewed,
        nodesReady,
        onlyCordoned(drill.node),
        workload,
        budget,
        drainAllowed([drill.node], config.drain.acknowledge),
      ],
      check: [
        empty,
        workload,
        artefact({ name: "drain.txt", node: drill.node }),
        artefact({ name: "after-drain.txt", node: drill.node, replicas: drill.replicas }),
      ],
      undo: { possible: true, how: `${drill.node} stays cordoned; pods stay where they went` },
      sideEffects: [
        "every pod on the node is ended and made anew elsewhere: connections to it are closed after its grace period",
        "pods of single-replica workloads are away until their substitute is Ready",
      ],
    },
    {
      name: "uncordon",
      does: `Gives ${drill.node} back to the scheduler.`,
      gate: [reviewed, nodesReady, onlyCordoned(drill.node), empty],
      check: [onlyCordoned(), workload, artefact({ name: "uncordon.txt", node: drill.node })],
      undo: {
        possible: true,
        how: `${drill.node} is cordoned again where the way back ends at 'cordon', cordoned and drained where it ends at 'drain'`,
      },
      sideEffects: ["pods do not come back by themselves: the node fills with new pods only"],
    },
    {
      name: "plan",
      does: "Writes down the version-skew answers, the runbook and the rollout, and labels every node with its rollout stage.",
      gate: [reviewed, nodesReady, onlyCordoned(), path],
      check: [
        artefact({ name: "skew.yaml" }),
        artefact({ name: "runbook.md", target }),
        artefact({ name: "rollout.json" }),
        {
          condition: "nodes-labelled",
          with: { key: STAGE_LABEL, values: stageLabels(settings) },
          says: "every node carries its rollout stage",
        },
      ],
      undo: { possible: true, how: "the labels are removed; the documents stay" },
      sideEffects: [],
    },
    {
      name: "snapshot",
      does: "Takes an etcd snapshot, verifies its hash and restores it into a scratch folder: the rehearsal of the way back.",
      gate: [reviewed, nodesReady, etcd],
      check: [etcd],
      undo: { possible: true, how: "nothing was changed; the snapshot stays" },
      sideEffects: [
        "the etcd member that is asked reads its whole database once; the file holds every Secret of the cluster",
      ],
    },
    {
      name: "control-plane",
      does: `Upgrades the first control-plane machine, ${controlPlane[0] ?? ""}, to ${target}, after a fresh snapshot.`,
      gate: [reviewed, nodesReady, onlyCordoned(), path, skew, workloadsReady, budgetsHealthy, etcd],
      check: [servers(controlPlane.slice(0, 1)), skew, nodesReady, workloadsReady, budgetsHealthy, etcd],
      undo: { possible: false, wayBack: SNAPSHOT_IS_THE_WAY_BACK },
      sideEffects: [
        "static pods restart: with one control-plane machine the API is away for a moment, controllers lose and regain their leases",
        "kubeadm renews the certificates that it manages",
      ],
    },
    ...(controlPlane.length > 1
      ? [
          otherControlPlanes(
            controlPlane.slice(1),
            target,
            [servers(controlPlane.slice(0, 1)), reviewed, ...standing],
            [servers(controlPlane), ...standing],
          ),
        ]
      : []),
    ...rollout.stages.map((stage): Stage => ({
      name: stage.stage,
      does: `Upgrades the kubelet of ${stage.nodes.join(", ")} to ${target}, one node at a time: drain, upgrade, Ready, uncordon.`,
      gate: [
        reviewed,
        nodesReady,
        onlyCordoned(...stage.nodes),
        servers(controlPlane),
        ...rolloutBefore(settings, stage.stage).map(kubelets),
        workloadsReady,
        budgetsHealthy,
        drainAllowed(stage.nodes, config.drain.acknowledge),
        etcd,
      ],
      check: [kubelets(stage), nodesReady, onlyCordoned(), skew, workloadsReady, budgetsHealthy],
      undo: { possible: false, wayBack: SNAPSHOT_IS_THE_WAY_BACK },
      sideEffects: [
        "every pod on these nodes is ended and made anew elsewhere, node by node",
        "the kubelet restarts: containers that are left on the node (DaemonSets) go on, their probes begin anew",
      ],
    })),
  ];
}

function otherControlPlanes(
  nodes: readonly string[],
  target: string,
  gate: readonly Requirement[],
  check: readonly Requirement[],
): Stage {
  return {
    name: "control-plane-others",
    does: `Upgrades the other control-plane machines (${nodes.join(", ")}) to ${target}, one at a time, by \`kubeadm upgrade node\`.`,
    gate,
    check,
    undo: { possible: false, wayBack: SNAPSHOT_IS_THE_WAY_BACK },
    sideEffects: [
      "static pods restart on one machine after the other: clients of that API server connect again",
    ],
  };
}

export function stageLabels(settings: Settings): Record<string, string> {
  return Object.fromEntries(
    settings.rollout.stages.flatMap((stage) => stage.nodes.map((node) => [node, stage.stage])),
  );
}

/** Every node that the config names, with its path there. */
function namedNodes({ config }: Settings): { name: string; path: string }[] {
  const root = "cluster-migration:upgrade";
  return [
    { name: config.drill.node, path: `${root}.drill.node` },
    ...(config.controlPlane ?? []).map((name, index) => ({ name, path: `${root}.controlPlane[${index}]` })),
  ];
}
