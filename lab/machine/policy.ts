import { compare, minorNumber } from "./versions.ts";

/**
 * What kubeadm checks before `upgrade apply` (cmd/kubeadm/app/phases/upgrade/policy.go, EnforceVersionPolicies),
 * in its words. `fatal` cannot be forced; `skippable` can, by `--force`.
 */
export interface Verdict {
  readonly fatal: readonly string[];
  readonly skippable: readonly string[];
}

/** Kubelets may be this many minors older than the API server (kubernetes.io, "Version Skew Policy"). */
const KUBELET_SKEW = 3;

export function versionPolicy(versions: {
  readonly target: string;
  readonly cluster: string;
  readonly kubeadm: string;
  readonly kubelets: readonly string[];
}): Verdict {
  const { target, cluster, kubeadm, kubelets } = versions;
  const fatal: string[] = [];
  const skippable: string[] = [];
  const [to, from, own] = [minorNumber(target), minorNumber(cluster), minorNumber(kubeadm)];
  if (to > from + 1) {
    fatal.push(
      `Specified version to upgrade to "${target}" is too high; kubeadm can upgrade only 1 minor version at a time`,
    );
  }
  if (to < from) {
    // kubeadm's own limit is one minor down, which Kubernetes does not support for a control plane with data
    // (kubernetes.io, "Version Skew Policy": minors go up, one at a time): the lab refuses that too.
    fatal.push(
      `Specified version to downgrade to "${target}" is too low; the cluster is at "${cluster}" and a control plane cannot go back a minor version`,
    );
  }
  if (compare(kubeadm, target) < 0) {
    if (to > own) {
      fatal.push(
        `Specified version to upgrade to "${target}" is at least one minor release higher than the kubeadm minor release (${to} > ${own}). Such an upgrade is not supported`,
      );
    } else {
      skippable.push(
        `Specified version to upgrade to "${target}" is higher than the kubeadm version "${kubeadm}". Upgrade kubeadm first using the tool you used to install kubeadm`,
      );
    }
  }
  if (own > to) {
    skippable.push(`Kubeadm version ${kubeadm} can only be used to upgrade to Kubernetes version 1.${own}`);
  }
  const old = [...new Set(kubelets.filter((kubelet) => to > minorNumber(kubelet) + KUBELET_SKEW))].sort();
  if (old.length > 0) {
    skippable.push(
      `There are kubelets in this cluster that are too old that have these versions [${old.join(" ")}]`,
    );
  }
  return { fatal, skippable };
}
