/**
 * The published version-skew policy (kubernetes.io/releases/version-skew-policy) as arithmetic: which version of each
 * component is supported beside which API servers. With API servers of two minors, half-way through an upgrade,
 * the windows narrow to what both support.
 */

import type { Finding } from "./finding.ts";
import {
  type Minor,
  type Version,
  compareMinors,
  formatMinor,
  minorOf,
  readVersion,
  shiftMinor,
} from "./versions.ts";

export const SKEW_RULE = "version-skew policy, kubernetes.io/releases/version-skew-policy";

/** Both ends are supported. `min` above `max` means that nothing is (API servers too far apart). */
export interface Range {
  readonly min: Minor;
  readonly max: Minor;
}

export interface SkewWindow {
  readonly oldestApiserver: Minor;
  readonly newestApiserver: Minor;
  readonly kubelet: Range;
  readonly kubeProxy: Range;
  /** Also kube-scheduler and cloud-controller-manager, when they reach the API servers through a load balancer. */
  readonly controllerManager: Range;
  readonly kubectl: Range;
}

/** @throws RangeError on an empty list: without an API server there is nothing to measure against. */
export function skewWindow(apiservers: readonly Minor[]): SkewWindow {
  const ordered = [...apiservers].sort(compareMinors);
  const oldest = ordered[0];
  const newest = ordered.at(-1);
  if (oldest === undefined || newest === undefined) {
    throw new RangeError("a skew window needs the version of at least one API server");
  }
  const node: Range = { min: oldestOnNodes(newest), max: minorOf(oldest) };
  return {
    oldestApiserver: minorOf(oldest),
    newestApiserver: minorOf(newest),
    kubelet: node,
    kubeProxy: node,
    controllerManager: { min: shiftMinor(newest, -1), max: minorOf(oldest) },
    kubectl: { min: shiftMinor(newest, -1), max: shiftMinor(oldest, 1) },
  };
}

/** Kubelets and kube-proxies before 1.25 may be two minors older, later ones three. */
function oldestOnNodes(newest: Minor): Minor {
  const threeOlder = shiftMinor(newest, -3);
  return compareMinors(threeOlder, { major: 1, minor: 25 }) >= 0 ? threeOlder : shiftMinor(newest, -2);
}

export const inRange = (version: Minor, { min, max }: Range): boolean =>
  compareMinors(version, min) >= 0 && compareMinors(version, max) <= 0;

export const SKEW_ANSWER_KEYS = [
  "min_kubelet",
  "max_kubelet",
  "max_kubectl",
  "min_kubectl",
  "max_controller_manager",
  "next_upgrade_target",
  "downgrade_supported",
] as const;

export type SkewAnswers = Readonly<Record<(typeof SKEW_ANSWER_KEYS)[number], string>>;

/**
 * The answers for API servers at these minors. `next_upgrade_target` of a control plane in mixed versions is its newest
 * minor: the API servers that lag come first, since three minors at once are never supported.
 * @throws RangeError on an empty list, and when the API servers are more than one minor apart.
 */
export function skewAnswers(apiservers: readonly Minor[]): SkewAnswers {
  const window = skewWindow(apiservers);
  const { oldestApiserver: oldest, newestApiserver: newest } = window;
  if (!withinOneMinor(oldest, newest)) {
    throw new RangeError(
      `API servers at ${formatMinor(oldest)} and ${formatMinor(newest)} are more than one minor apart: no answers exist`,
    );
  }
  const mixed = compareMinors(oldest, newest) !== 0;
  return {
    min_kubelet: formatMinor(window.kubelet.min),
    max_kubelet: formatMinor(window.kubelet.max),
    max_kubectl: formatMinor(window.kubectl.max),
    min_kubectl: formatMinor(window.kubectl.min),
    max_controller_manager: formatMinor(window.controllerManager.max),
    next_upgrade_target: formatMinor(mixed ? newest : shiftMinor(newest, 1)),
    downgrade_supported: "no",
  };
}

/** A running component: `name` says which one (a node's name for kubelet and kube-proxy). */
export interface Running {
  readonly name: string;
  readonly version: string;
}

export interface Components {
  readonly apiservers: readonly Running[];
  readonly kubelets?: readonly Running[];
  readonly kubeProxies?: readonly Running[];
  readonly controllerManagers?: readonly Running[];
  readonly schedulers?: readonly Running[];
  readonly cloudControllerManagers?: readonly Running[];
  readonly kubectl?: string;
}

/** Everything that is outside the window of the API servers given, each component named. */
export function checkComponents(components: Components): Finding[] {
  const findings: Finding[] = [];
  const apiservers = readAll("kube-apiserver", components.apiservers, findings).map(({ version }) => version);
  if (apiservers.length === 0) {
    return [...findings, unreadable("kube-apiserver", "no API server with a readable version is known")];
  }
  const window = skewWindow(apiservers);
  const { oldestApiserver: oldest, newestApiserver: newest } = window;
  if (!withinOneMinor(oldest, newest)) {
    findings.push({
      code: "SKEW-APISERVERS",
      severity: "refuse",
      subject: "kube-apiserver",
      message: `the API servers run ${formatMinor(oldest)} and ${formatMinor(newest)}, more than one minor apart`,
      rule: `the newest and the oldest API server are within one minor: ${SKEW_RULE}`,
      repair: `bring the oldest API servers up to ${formatMinor(shiftMinor(newest, -1))} first, one minor at a time`,
    });
  }
  const check = (kind: string, range: Range, running: readonly Running[] | undefined): void => {
    for (const { name, version } of readAll(kind, running ?? [], findings)) {
      if (!inRange(version, range)) findings.push(outside(kind, name, version, range, window));
    }
  };
  check("kubelet", window.kubelet, components.kubelets);
  check("kube-proxy", window.kubeProxy, components.kubeProxies);
  check("kube-controller-manager", window.controllerManager, components.controllerManagers);
  check("kube-scheduler", window.controllerManager, components.schedulers);
  check("cloud-controller-manager", window.controllerManager, components.cloudControllerManagers);
  if (components.kubectl !== undefined) {
    check("kubectl", window.kubectl, [{ name: "on this machine", version: components.kubectl }]);
  }
  return [...findings, ...proxiesBesideKubelets(components.kubeProxies ?? [], components.kubelets ?? [])];
}

/**
 * A node pool whose image has a kubelet newer than the control plane is refused before any node joins
 * (awslabs/amazon-eks-ami#2119). A newer patch of the same minor is fine.
 */
export function checkNodePools(apiservers: readonly string[], pools: readonly Running[]): Finding[] {
  return checkComponents({
    apiservers: apiservers.map((version, index) => ({ name: `kube-apiserver ${index + 1}`, version })),
    kubelets: pools.map(({ name, version }) => ({ name: `pool ${name}`, version })),
  });
}

const withinOneMinor = (oldest: Minor, newest: Minor): boolean =>
  oldest.major === newest.major && newest.minor - oldest.minor <= 1;

function outside(kind: string, name: string, version: Version, range: Range, window: SkewWindow): Finding {
  const { oldestApiserver: oldest, newestApiserver: newest } = window;
  const tooNew = compareMinors(version, range.max) > 0;
  const servers =
    compareMinors(oldest, newest) === 0
      ? `API server at ${formatMinor(newest)}`
      : `API servers at ${formatMinor(oldest)} and ${formatMinor(newest)}`;
  const supported =
    compareMinors(range.min, range.max) > 0
      ? "no version is supported"
      : compareMinors(range.min, range.max) === 0
        ? `only ${formatMinor(range.max)} is supported`
        : `${formatMinor(range.min)} to ${formatMinor(range.max)} are supported`;
  const control = kind !== "kubelet" && kind !== "kube-proxy" && kind !== "kubectl";
  return {
    code: tooNew ? "SKEW-TOO-NEW" : "SKEW-TOO-OLD",
    severity: "refuse",
    subject: `${kind} ${name}`,
    message: `${version.text} is too ${tooNew ? "new" : "old"} for the ${servers}: ${supported}`,
    rule: SKEW_RULE,
    repair: tooNew
      ? kind === "kubectl"
        ? `use a kubectl of ${formatMinor(range.max)} or of the API server's own version`
        : `upgrade the control plane first, or use ${formatMinor(range.max)} here`
      : `upgrade it to ${formatMinor(control ? range.max : range.min)} or newer first`,
  };
}

/** A kube-proxy is within three minors of the kubelet beside it, two if it is older than 1.25. */
function proxiesBesideKubelets(proxies: readonly Running[], kubelets: readonly Running[]): Finding[] {
  const kubeletOf = new Map(kubelets.map(({ name, version }) => [name, version]));
  return proxies.flatMap(({ name, version }) => {
    const proxy = readVersion(version);
    const kubelet = readVersion(kubeletOf.get(name) ?? "");
    if (!proxy.ok || !kubelet.ok) return [];
    const limit = compareMinors(proxy.version, { major: 1, minor: 25 }) < 0 ? 2 : 3;
    const apart = Math.abs(proxy.version.minor - kubelet.version.minor);
    if (proxy.version.major === kubelet.version.major && apart <= limit) return [];
    return [
      {
        code: "SKEW-PROXY-KUBELET",
        severity: "refuse",
        subject: `kube-proxy ${name}`,
        message: `kube-proxy ${version} and kubelet ${kubelet.version.text} on this node are ${apart} minors apart`,
        rule: `kube-proxy is within ${limit} minors of the kubelet it runs beside: ${SKEW_RULE}`,
        repair: "bring both to the same minor",
      },
    ];
  });
}

interface Read {
  readonly name: string;
  readonly version: Version;
}

function readAll(kind: string, running: readonly Running[], findings: Finding[]): Read[] {
  return running.flatMap(({ name, version }) => {
    const read = readVersion(version);
    if (read.ok) return [{ name, version: read.version }];
    findings.push(unreadable(`${kind} ${name}`, read.error.message));
    return [];
  });
}

function unreadable(subject: string, message: string): Finding {
  return {
    code: "VERSION-UNREADABLE",
    severity: "refuse",
    subject,
    message,
    rule: "what can't be read is not decided, never passed",
    repair: "look at the version that this component reports",
  };
}
