import type { Cluster } from "./health.ts";
import type { Session } from "./session.ts";
import { CONTROL_PLANE } from "./swap.ts";
import { compare, minorOf } from "./versions.ts";

/** The tables of `kubeadm upgrade plan`. CoreDNS and kube-proxy are no part of a lab, so they have no row. */
export function printPlan(
  session: Session,
  cluster: Cluster,
  kubeadm: string,
  target: string,
  etcd: string,
): void {
  const { out } = session;
  out("[upgrade] Fetching available versions to upgrade to");
  out(`[upgrade/versions] Cluster version: ${cluster.version.slice(1)}`);
  out(`[upgrade/versions] kubeadm version: ${kubeadm}`);
  out(`[upgrade/versions] Target version: ${target}`);
  out(`[upgrade/versions] Latest version in the v${minorOf(cluster.version)} series: ${cluster.version}`);
  out("");
  if (compare(target, cluster.version) <= 0) {
    out("Awesome, you're up-to-date! Enjoy!");
    return;
  }
  const kubelets = [...cluster.kubelets].filter(([, version]) => version !== target);
  if (kubelets.length > 0) {
    out(
      "Components that must be upgraded manually after you have upgraded the control plane with 'kubeadm upgrade apply':",
    );
    table(session, [
      ["COMPONENT", "NODE", "CURRENT", "TARGET"],
      ...kubelets.sort().map(([node, version]) => ["kubelet", node, version, target]),
    ]);
    out("");
  }
  out("Upgrade to the latest stable version:");
  out("");
  table(session, [
    ["COMPONENT", "NODE", "CURRENT", "TARGET"],
    ...CONTROL_PLANE.flatMap((name) =>
      cluster.controlPlanes.map((node) => [name, node, cluster.version, target]),
    ),
    ...cluster.controlPlanes.map((node) => ["etcd", node, etcd, etcd]),
  ]);
  out("");
  out("You can now apply the upgrade by executing the following command:");
  out("");
  out(`\tkubeadm upgrade apply ${target}`);
  out("");
  if (compare(kubeadm, target) < 0) {
    out(`Note: Before you can perform this upgrade, you have to update kubeadm to ${target}.`);
    out("");
  }
  out("_____________________________________________________________________");
}

function table({ out }: Session, rows: readonly (readonly string[])[]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    out(
      row
        .map((cell, column) => cell.padEnd((widths[column] ?? 0) + 3))
        .join("")
        .trimEnd(),
    );
}
