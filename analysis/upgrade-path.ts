/** Is a Kubernetes upgrade from here to there one that the tools and the policy support? */

import type { Finding } from "./finding.ts";
import { type Running, SKEW_RULE, checkComponents } from "./skew.ts";
import {
  type Version,
  compareMinors,
  compareVersions,
  formatMinor,
  formatVersion,
  isPreRelease,
  meantVersion,
  minorOf,
  parseVersion,
  readVersion,
  shiftMinor,
} from "./versions.ts";

export interface UpgradePath {
  /** Versions of the API servers now; one text stands for one server. */
  readonly current: string | readonly string[];
  readonly target: string;
  /** The kubeadm that would carry the upgrade out. */
  readonly kubeadm?: string;
  /** `name` is the node's. */
  readonly kubelets?: readonly Running[];
  readonly talosctl?: string;
  /** Talos versions of the nodes. */
  readonly talosNodes?: readonly string[];
}

const ONE_MINOR = `API servers never skip a minor, also when there is only one: ${SKEW_RULE}`;

/**
 * Refuses a skipped minor (its repair lists the steps, see {@link upgradeSteps}), a downgrade, a kubeadm or talosctl that
 * can't do it, and kubelets that would be left outside the window; warns of a pre-release as target.
 * A newer patch of the same minor, and the version the cluster already has, are fine.
 */
export function checkUpgradePath(path: UpgradePath): Finding[] {
  const findings: Finding[] = [];
  const currents = typeof path.current === "string" ? [path.current] : path.current;
  const servers = currents.map((text) => read("kube-apiserver", text, findings)).filter((v) => v !== null);
  const target = read("upgrade.target", path.target, findings);
  const sorted = [...servers].sort(compareVersions);
  const oldest = sorted[0];
  const newest = sorted.at(-1);
  if (oldest === undefined || newest === undefined || target === null) {
    if (findings.length === 0)
      findings.push(unreadable("kube-apiserver", "the version of no API server is known"));
    return findings;
  }
  const step = checkStep(oldest, newest, target);
  if (step !== null) findings.push(step);
  if (isPreRelease(target)) findings.push(preReleaseTarget(target));
  if (path.kubeadm !== undefined) findings.push(...checkKubeadm(path.kubeadm, target));
  findings.push(...checkTalosctl(path.talosctl, path.talosNodes ?? []));
  // A path that is no path says nothing about which kubelets it would leave behind.
  if (step === null) findings.push(...checkKubelets(currents, target, path.kubelets ?? []));
  return findings;
}

/**
 * Versions to go through, the target last: `v1.13.5` to `v1.15.0` is `[v1.14.x, v1.15.0]`, where `x` is the newest patch
 * of that line. Empty where there is nothing to do, and for a downgrade or another major, to which no steps lead.
 * @throws VersionError
 */
export function upgradeSteps(current: string, target: string): string[] {
  const from = parseVersion(current);
  const to = parseVersion(target);
  if (from.major !== to.major || compareVersions(to, from) <= 0) return [];
  const steps: string[] = [];
  for (let next = shiftMinor(from, 1); compareMinors(next, to) < 0; next = shiftMinor(next, 1)) {
    steps.push(`v${formatMinor(next)}.x`);
  }
  return [...steps, formatVersion(to)];
}

function checkStep(oldest: Version, newest: Version, target: Version): Finding | null {
  const subject = "upgrade.target";
  const meant = meantVersion(target, newest);
  const hint = meant === null ? "" : `did you mean ${meant}? Otherwise: `;
  if (target.major !== newest.major) {
    return {
      code: "UPGRADE-MAJOR",
      severity: "refuse",
      subject,
      message: `${target.text} is another major than ${newest.text}`,
      rule: ONE_MINOR,
      repair: `${hint}name a target of ${formatMinor(newest)} or ${formatMinor(shiftMinor(newest, 1))}`,
    };
  }
  // A release line as target (`1.34`) means its newest patch, so it is not older than a patch of that line.
  const sameLine = target.patch === null && compareMinors(target, newest) === 0;
  if (!sameLine && compareVersions(target, newest) < 0) {
    return {
      code: "UPGRADE-DOWNGRADE",
      severity: "refuse",
      subject,
      message: `${target.text} is older than ${newest.text}, which the control plane runs`,
      rule: "a control plane is never downgraded; kubeadm and the API's stored data support no way down",
      repair: `${hint}name a target from ${formatMinor(newest)} upwards; the only way back is to restore an etcd snapshot`,
    };
  }
  const mixed = compareMinors(oldest, newest) !== 0;
  if (compareMinors(target, shiftMinor(oldest, 1)) > 0) {
    const steps = upgradeSteps(oldest.text, target.text).join(", then ");
    return {
      code: "UPGRADE-SKIPS-MINOR",
      severity: "refuse",
      subject,
      message: mixed
        ? `${target.text} skips a minor for the API servers that still run ${oldest.text}`
        : `${target.text} skips ${target.minor - oldest.minor - 1} minor(s) from ${oldest.text}`,
      rule: ONE_MINOR,
      repair: mixed
        ? `finish the upgrade of every API server to ${formatMinor(newest)} first; the steps: ${steps}`
        : `${hint}go one minor at a time: ${steps}`,
    };
  }
  return null;
}

function checkKubeadm(text: string, target: Version): Finding[] {
  const findings: Finding[] = [];
  const kubeadm = read("kubeadm", text, findings);
  if (kubeadm === null) return findings;
  const finding = (message: string, repair: string): Finding => ({
    code: "UPGRADE-KUBEADM",
    severity: "refuse",
    subject: "kubeadm",
    message,
    rule: "kubeadm upgrades to its own minor only, and to no version newer than itself (kubeadm upgrade's version policy)",
    repair,
  });
  const older =
    target.patch === null ? compareMinors(kubeadm, target) < 0 : compareVersions(kubeadm, target) < 0;
  if (older)
    return [
      finding(
        `kubeadm ${text} is older than the target ${target.text}`,
        `upgrade kubeadm first, to ${target.text}`,
      ),
    ];
  if (compareMinors(kubeadm, target) > 0) {
    return [
      finding(
        `kubeadm ${text} is a later minor than the target ${target.text}`,
        `use a kubeadm of ${formatMinor(target)}, at least ${target.text}`,
      ),
    ];
  }
  return [];
}

/** The complaint "unsupported upgrade path" of an old talosctl blames the path; the client is at fault. */
function checkTalosctl(text: string | undefined, nodes: readonly string[]): Finding[] {
  if (text === undefined) return [];
  const findings: Finding[] = [];
  const client = read("talosctl", text, findings);
  const versions = nodes.map((node) => read("Talos node", node, findings)).filter((v) => v !== null);
  const newest = versions.sort(compareVersions).at(-1);
  if (client === null || newest === undefined || compareVersions(client, newest) === 0) return findings;
  const older = compareVersions(client, newest) < 0;
  const minorApart = compareMinors(client, newest) !== 0;
  findings.push({
    code: "UPGRADE-TALOSCTL",
    severity: older && minorApart ? "refuse" : "warn",
    subject: "talosctl",
    message: `talosctl is ${older ? "older" : "newer"} than the nodes: ${text} against Talos ${newest.text}`,
    rule: "talosctl knows only the upgrade paths of its own release (siderolabs/talos#7090); use the nodes' version",
    repair: `install talosctl ${newest.text}; the Kubernetes target is not the cause`,
  });
  return findings;
}

/**
 * Kubelets must fit before, while API servers of both versions answer, and after. Upwards the present control plane
 * sets the limit, downwards the coming one.
 */
function checkKubelets(
  currents: readonly string[],
  target: Version,
  kubelets: readonly Running[],
): Finding[] {
  const now = currents.map((version, index) => ({ name: `kube-apiserver ${index + 1}`, version }));
  const before = checkComponents({ apiservers: now, kubelets });
  const already = new Set(before.map(({ subject }) => subject));
  const coming = { name: "kube-apiserver to come", version: target.text };
  const after = checkComponents({ apiservers: [coming], kubelets }).filter(
    ({ code, subject }) => code === "SKEW-TOO-OLD" && !already.has(subject),
  );
  const line = formatMinor(minorOf(target));
  return [
    ...before,
    ...after.map((finding) => ({
      ...finding,
      code: "UPGRADE-LEAVES-KUBELET",
      message: `once the control plane is at ${line}, ${finding.message}`,
      repair: `${finding.repair}, before the control plane moves to ${line}`,
    })),
  ];
}

function preReleaseTarget(target: Version): Finding {
  return {
    code: "UPGRADE-PRE-RELEASE",
    severity: "warn",
    subject: "upgrade.target",
    message: `${target.text} is a pre-release`,
    rule: "alpha, beta and rc versions get no fixes and no supported way to the release that follows",
    repair: "name a release for a live cluster",
  };
}

function read(subject: string, text: string, findings: Finding[]): Version | null {
  const result = readVersion(text);
  if (result.ok) return result.version;
  findings.push(unreadable(subject, result.error.message));
  return null;
}

function unreadable(subject: string, message: string): Finding {
  return {
    code: "VERSION-UNREADABLE",
    severity: "refuse",
    subject,
    message,
    rule: "what can't be read is not decided, never passed",
    repair: 'write a version such as "1.34.4", in quotes',
  };
}
