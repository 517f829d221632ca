import { readKubeadmConfig } from "../cluster/objects.ts";
import { applyUpgrade } from "./apply.ts";
import { healthyCluster, KubeadmError, READING_CONFIG } from "./health.ts";
import { printPlan } from "./plan.ts";
import type { Session } from "./session.ts";
import type { Machine } from "./state.ts";
import { minorOf } from "./versions.ts";

/** `kubeadm version [-o short]`, `kubeadm upgrade plan [V]`, `kubeadm upgrade apply [-y] [--force] V`, `kubeadm upgrade node` */
export async function kubeadm(session: Session, args: readonly string[]): Promise<number> {
  const machine = await session.machine();
  const [first, second, ...rest] = args;
  try {
    if (first === "version") return version(session, machine, args.slice(1));
    if (first === "upgrade" && second === "plan") return await plan(session, machine, rest);
    if (first === "upgrade" && second === "apply") return await apply(session, machine, rest);
    if (first === "upgrade" && second === "node" && rest.length === 0)
      return await upgradeNode(session, machine);
  } catch (error) {
    if (!(error instanceof KubeadmError)) throw error;
    session.err(`error: ${error.message}`);
    session.err("To see the stack trace of this error execute with --v=5 or higher");
    return 1;
  }
  session.err(
    `error: this lab's machine does not play \`kubeadm ${args.join(" ")}\`; it plays version, upgrade plan, upgrade apply and upgrade node`,
  );
  return 1;
}

function version(session: Session, machine: Machine, args: readonly string[]): number {
  const own = machine.packages.kubeadm;
  const form = args.join(" ").replace("--output", "-o").replace("=", " ");
  if (form === "-o short") {
    session.out(own);
    return 0;
  }
  if (form !== "")
    throw new KubeadmError(`invalid output format: ${args.join(" ")} (this lab's machine plays -o short)`);
  const [major, minor] = minorOf(own).split(".");
  session.out(
    `kubeadm version: &version.Info{Major:"${major ?? ""}", Minor:"${minor ?? ""}", GitVersion:"${own}"}`,
  );
  return 0;
}

async function plan(session: Session, machine: Machine, args: readonly string[]): Promise<number> {
  if (args.length > 1) throw new KubeadmError(`accepts at most 1 arg, received ${args.length}`);
  const wanted = args[0] === undefined ? undefined : parseTarget(args[0]);
  needsAdminConf(machine);
  session.out("[preflight] Running pre-flight checks.");
  for (const line of READING_CONFIG) session.out(`[upgrade/config] ${line}`);
  session.out("[upgrade] Running cluster health checks");
  const cluster = await healthyCluster(session);
  printPlan(
    session,
    cluster,
    machine.packages.kubeadm,
    wanted ?? machine.packages.kubeadm,
    (await session.lab()).components.etcd.version,
  );
  return 0;
}

async function apply(session: Session, machine: Machine, args: readonly string[]): Promise<number> {
  const flags = new Set(args.filter((arg) => arg.startsWith("-")));
  const [wanted, ...more] = args.filter((arg) => !arg.startsWith("-"));
  for (const flag of flags) {
    if (!["-y", "--yes", "-f", "--force"].includes(flag)) throw new KubeadmError(`unknown flag: ${flag}`);
  }
  if (wanted === undefined || more.length > 0) {
    throw new KubeadmError("missing one or more required arguments. Required arguments: [version]");
  }
  const target = parseTarget(wanted);
  needsAdminConf(machine);
  if (!flags.has("-y") && !flags.has("--yes") && !flags.has("-f") && !flags.has("--force")) {
    throw new KubeadmError("this lab's machine has no terminal to ask on; give -y");
  }
  return applyUpgrade(session, machine, target, flags.has("-f") || flags.has("--force"));
}

/**
 * On a worker: brings the kubelet's configuration to the cluster's version. A second control-plane node of a lab
 * has no processes of its own, so that there, too, only the kubelet's configuration changes.
 */
async function upgradeNode(session: Session, machine: Machine): Promise<number> {
  for (const line of READING_CONFIG) session.out(`[upgrade] ${line}`);
  const configured = await session.withApi(readKubeadmConfig).catch((error: unknown) => {
    throw new KubeadmError(`couldn't get the configuration from the cluster: ${String(error)}`);
  });
  if (configured === undefined)
    throw new KubeadmError('the "kubeadm-config" ConfigMap holds no kubernetesVersion');
  session.out("[upgrade/preflight] Running pre-flight checks");
  const skipped = machine.controlPlane
    ? "The control plane of a lab is one set of processes; `kubeadm upgrade apply` has upgraded it."
    : "Skipping phase. Not a control plane node.";
  session.out(`[upgrade/control-plane] ${skipped}`);
  session.out(`[upgrade/kubeconfig] ${skipped}`);
  session.out('[kubelet-start] Writing kubelet configuration to file "/var/lib/kubelet/config.yaml"');
  await session.save({ ...machine, kubelet: { ...machine.kubelet, configMinor: minorOf(configured) } });
  session.out("[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!");
  session.out(`[upgrade/addon] ${skipped}`);
  return 0;
}

function parseTarget(version: string): string {
  const match = /^v?(\d+\.\d+\.\d+)$/u.exec(version);
  if (!match)
    throw new KubeadmError(`couldn't parse kubernetes version "${version}": it must look like v1.35.4`);
  return `v${match[1] ?? ""}`;
}

/** What a worker's kubeadm runs into first. */
function needsAdminConf(machine: Machine): void {
  if (!machine.controlPlane) {
    throw new KubeadmError(
      `couldn't create a Kubernetes client from file "/etc/kubernetes/admin.conf": failed to load admin kubeconfig: open /etc/kubernetes/admin.conf: no such file or directory (${machine.node} is not a control-plane node)`,
    );
  }
}
