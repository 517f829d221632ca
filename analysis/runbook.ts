/**
 * The runbook of one upgrade, for one cluster.
 *
 * Whoever checks it looks for the first line with each of: etcd snapshot, `kubeadm upgrade plan`, `… apply`, `… node`,
 * `drain`, `uncordon`, and wants them on different lines in this order. So the text before a step must not name it,
 * and a node called `drain-1` must not appear by name before the first real drain: see {@link aliases}.
 */

import { SKEW_RULE, skewWindow } from "./skew.ts";
import { type Rollout, checkRollout } from "./rollout.ts";
import { formatMinor, formatVersion, minorOf, parseVersion } from "./versions.ts";

export interface RunbookNode {
  readonly name: string;
  readonly controlPlane: boolean;
  readonly kubeletVersion: string;
}

export interface RunbookFacts {
  /** For people, e.g. the kubeconfig's context. */
  readonly cluster: string;
  /** UID of kube-system, so that the runbook can't be used on a look-alike. */
  readonly clusterUid?: string;
  /** Of each API server; one where only one is known. At least one. */
  readonly serverVersions: readonly string[];
  readonly nodes: readonly RunbookNode[];
  /** A full version, `1.35.0` or `v1.35.0`. */
  readonly target: string;
  readonly rollout: Rollout;
  /** Where the snapshot is saved, on a machine outside the cluster. */
  readonly snapshotPath: string;
  /** Of etcd, for the snapshot; left to the reader's environment (ETCDCTL_ENDPOINTS) when not given. */
  readonly etcdEndpoints?: string;
}

/**
 * Deterministic: the same facts give the same bytes.
 * @throws VersionError for versions that can't be read, RangeError without nodes or server versions, or for a rollout
 * that does not pass its check.
 */
export function renderRunbook(facts: RunbookFacts): string {
  const { nodes, rollout } = facts;
  if (nodes.length === 0) throw new RangeError("a runbook needs at least one node");
  if (facts.serverVersions.length === 0)
    throw new RangeError("a runbook needs the version of at least one API server");
  const wrong = checkRollout(
    rollout,
    nodes.map(({ name }) => name),
  )[0];
  if (wrong !== undefined)
    throw new RangeError(`no runbook for a wrong rollout: ${wrong.subject} ${wrong.message}`);
  const target = formatVersion(parseVersion(facts.target));
  const say = aliases([
    ...nodes.map(({ name }) => name),
    facts.cluster,
    facts.snapshotPath,
    facts.etcdEndpoints ?? "",
  ]);
  const controlPlane = nodes.filter((node) => node.controlPlane).map(({ name }) => name);
  const order = rollout.stages.flatMap((stage) => stage.nodes);
  const [first = order[0] ?? "", ...others] = order.filter((name) => controlPlane.includes(name));
  const lines = [
    ...opening(facts, target, say),
    ...snapshotSteps(facts, say),
    ...controlPlaneSteps({ first, others, target, say }),
    ...nodeSteps({ facts, controlPlane, target, say }),
    ...restoring(facts, say),
    ...overview(facts, order, say),
  ];
  return `${lines.join("\n")}\n`;
}

type Say = (text: string) => string;

/** A name with one of these words is written as a shell variable, until the table at the end. */
const STEP_WORDS = /kubeadm|drain|cordon/i;

/** @returns a function that gives a name as it is, or as `$NAME_<n>` if it could be taken for a step. */
function aliases(texts: readonly string[]): Say {
  const known = new Map<string, string>();
  for (const text of texts) {
    if (STEP_WORDS.test(text) && !known.has(text)) known.set(text, `$NAME_${known.size + 1}`);
  }
  return (text) => known.get(text) ?? text.replace(/\s+/g, " ");
}

function opening(facts: RunbookFacts, target: string, say: Say): string[] {
  const { serverVersions } = facts;
  const window = skewWindow([...serverVersions, target].map((version) => minorOf(version)));
  const aliased = [...facts.nodes.map(({ name }) => name), facts.cluster].some((name) => say(name) !== name);
  return [
    `# Upgrade of ${say(facts.cluster)} to ${target}`,
    "",
    "## What cannot be undone",
    "",
    `Step 6 writes the cluster's stored data as ${target} wants it; from then on there is no way to go back by a command.`,
    "A downgrade does not exist: no supported path leads to an earlier minor or patch of the control plane.",
    "The only way back is to restore the snapshot of step 1, and everything written since then is lost.",
    "Minor versions cannot be skipped: they go one at a time, and the control plane goes before the nodes.",
    "",
    "## Where it stands",
    "",
    `- API servers: ${[...new Set(serverVersions)].join(", ")}; target: ${target}.`,
    ...(facts.clusterUid === undefined
      ? []
      : [`- UID of the namespace kube-system: ${facts.clusterUid}. If it differs, stop: wrong cluster.`]),
    `- ${facts.nodes.length} nodes; all are listed with roles and versions at the end.`,
    `- While it lasts, kubelets from ${formatMinor(window.kubelet.min)} to ${formatMinor(window.kubelet.max)} and ` +
      `kubectl from ${formatMinor(window.kubectl.min)} to ${formatMinor(window.kubectl.max)} are supported (${SKEW_RULE}).`,
    ...(aliased
      ? ["- Some names are written as $NAME_1, $NAME_2, …; set these variables first, from the last section."]
      : []),
    "",
  ];
}

function snapshotSteps({ snapshotPath, etcdEndpoints }: RunbookFacts, say: Say): string[] {
  const endpoints = etcdEndpoints === undefined ? "" : ` --endpoints=${say(etcdEndpoints)}`;
  const file = shellWord(say(snapshotPath));
  return [
    "## Before anything changes",
    "",
    `1. Save the etcd snapshot: \`etcdctl${endpoints} snapshot save ${file}\``,
    `2. Verify its hash and revision: \`etcdutl snapshot status ${file} --write-out=table\``,
    `3. Verify that it restores: \`etcdutl snapshot restore ${file} --data-dir "$(mktemp -d)/restored"\``,
    "   If one of these fails, stop here. Nothing has been changed.",
    "",
  ];
}

function controlPlaneSteps(given: {
  first: string;
  others: readonly string[];
  target: string;
  say: Say;
}): string[] {
  const { first, others, target, say } = given;
  const version = target.replace(/^v/, "");
  return [
    "## The control plane",
    "",
    `4. On ${say(first)}, the first control-plane node, install the tool at ${version} and read what it would do:`,
    "   `kubeadm upgrade plan`",
    `5. Read its list of manual steps and of components to upgrade by hand. Go on only when there is none left.`,
    `6. Still on ${say(first)}, and on no other node:`,
    `   \`kubeadm upgrade apply ${target}\``,
    "7. On every other control-plane node, one after the other, each healthy again before the next:",
    "   `kubeadm upgrade node`",
    others.length === 0
      ? "   There is no other in this cluster."
      : `   They are, in this order: ${others.map(say).join(", ")}.`,
    "",
  ];
}

interface NodePart {
  readonly facts: RunbookFacts;
  readonly controlPlane: readonly string[];
  readonly target: string;
  readonly say: Say;
}

function nodeSteps(part: NodePart): string[] {
  const { stages, verify_between_stages: checks } = part.facts.rollout;
  const versions = new Map(part.facts.nodes.map(({ name, kubeletVersion }) => [name, kubeletVersion]));
  return [
    "## The nodes, stage by stage",
    "",
    ...stages.flatMap(({ stage, nodes }) => [
      `### Stage ${stage}`,
      "",
      ...nodes.flatMap((name) => oneNode(part, name, versions.get(name) ?? "unknown")),
      `After ${stage}, go on only if all of this holds; else stop, and leave the other nodes as they are:`,
      "",
      ...checks.map((check) => `- ${aside(check)}`),
      "",
    ]),
  ];
}

function oneNode({ controlPlane, target, say }: NodePart, name: string, from: string): string[] {
  const version = target.replace(/^v/, "");
  const tool = controlPlane.includes(name) ? [] : ["   `kubeadm upgrade node`"];
  return [
    `Node ${say(name)}, kubelet ${from} to ${target}:`,
    "",
    ...tool,
    `   \`kubectl drain "${say(name)}" --ignore-daemonsets --timeout=30m\``,
    "   If that refuses, look at each pod it names and save what is worth keeping; force nothing.",
    `   install kubelet and kubectl ${version} on it, then: \`systemctl daemon-reload && systemctl restart kubelet\``,
    `   \`kubectl wait --for=condition=Ready "node/${say(name)}" --timeout=10m\``,
    `   \`kubectl uncordon "${say(name)}"\``,
    "",
  ];
}

const shellWord = (text: string): string =>
  /^[$\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A check in the owner's words comes after the first steps of all kinds, so it may say what it likes, on one line. */
const aside = (text: string): string => text.replace(/\s+/g, " ").trim();

function restoring({ snapshotPath }: RunbookFacts, say: Say): string[] {
  return [
    "## The way back",
    "",
    "Stop every API server, then restore on each etcd member with that member's own name and peer URLs, and start the",
    "control plane at its former version again:",
    "",
    `   \`etcdutl snapshot restore ${shellWord(say(snapshotPath))} --name … --initial-cluster … --initial-advertise-peer-urls … --data-dir …\``,
    "",
  ];
}

function overview(facts: RunbookFacts, order: readonly string[], say: Say): string[] {
  const stageOf = new Map(
    facts.rollout.stages.flatMap(({ stage, nodes }) => nodes.map((name) => [name, stage] as const)),
  );
  const byName = new Map(facts.nodes.map((node) => [node.name, node]));
  const texts = [...order, facts.cluster, facts.snapshotPath, facts.etcdEndpoints ?? ""];
  const variables = [...new Set(texts)]
    .filter((text) => say(text) !== text)
    .map((text) => `    ${say(text).slice(1)}=${shellWord(text)}`);
  return [
    "## Nodes and names",
    "",
    "| node | role | kubelet | stage |",
    "| --- | --- | --- | --- |",
    ...order.map((name) => {
      const node = byName.get(name);
      const role = node?.controlPlane === true ? "control plane" : "worker";
      return `| ${name} | ${role} | ${node?.kubeletVersion ?? "unknown"} | ${stageOf.get(name) ?? "none"} |`;
    }),
    ...(variables.length === 0 ? [] : ["", ...variables]),
  ];
}
