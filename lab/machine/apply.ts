import { isAlive } from "../cluster/identity.ts";
import { withLock } from "../cluster/lock.ts";
import { writeKubeadmConfig } from "../cluster/objects.ts";
import { processOf } from "../cluster/process.ts";
import { requireState, writeState, type LabState } from "../cluster/state.ts";
import { healthyCluster, KubeadmError, READING_CONFIG } from "./health.ts";
import { versionPolicy } from "./policy.ts";
import { releaseOf, type Release } from "./repository.ts";
import type { Session } from "./session.ts";
import type { Machine } from "./state.ts";
import { CONTROL_PLANE, swap, takeBack, type ControlPlaneComponent, type Program } from "./swap.ts";
import { minorOf } from "./versions.ts";

/**
 * `kubeadm upgrade apply -y VERSION` on the control-plane node: checks, then API server, controller-manager and
 * scheduler one after the other, each waited for. Killed half-way it can be run again with the same version.
 */
export async function applyUpgrade(
  session: Session,
  machine: Machine,
  target: string,
  force: boolean,
): Promise<number> {
  return withLock(session.layout, `\`kubeadm upgrade apply\` on ${session.node}`, async () => {
    for (const line of READING_CONFIG) session.out(`[upgrade] ${line}`);
    session.out("[upgrade/preflight] Running preflight checks");
    const interrupted = (await session.lab()).upgradingTo;
    if (interrupted === target) await session.note(`goes on with the interrupted upgrade to ${target}`);
    else await preflight(session, machine, target, force);
    if (interrupted !== undefined && interrupted !== target) {
      throw new KubeadmError(
        `an upgrade to ${interrupted} was interrupted on this control plane; finish it first: kubeadm upgrade apply ${interrupted}`,
      );
    }
    const release = await available(session, target);
    await writeState(session.layout, { ...(await session.lab()), upgradingTo: target });
    await replaceControlPlane(session, release);
    await finish(session, machine, target);
    return 0;
  });
}

async function preflight(session: Session, machine: Machine, target: string, force: boolean): Promise<void> {
  session.out("[upgrade] Running cluster health checks");
  const cluster = await healthyCluster(session);
  session.out(`[upgrade/preflight] You have chosen to upgrade the cluster version to "${target}"`);
  session.out(`[upgrade/versions] Cluster version: ${cluster.version}`);
  session.out(`[upgrade/versions] kubeadm version: ${machine.packages.kubeadm}`);
  const { fatal, skippable } = versionPolicy({
    target,
    cluster: cluster.version,
    kubeadm: machine.packages.kubeadm,
    kubelets: [...cluster.kubelets.values()],
  });
  const lines = (errors: readonly string[]): string => errors.map((error) => `\t- ${error}`).join("\n");
  if (fatal.length > 0) {
    throw new KubeadmError(
      `error execution phase preflight: the version argument is invalid due to these fatal errors:\n\n${lines(fatal)}\n\nPlease fix the misalignments highlighted above and try upgrading again`,
    );
  }
  if (skippable.length > 0 && !force) {
    throw new KubeadmError(
      `error execution phase preflight: the version argument is invalid due to these errors:\n\n${lines(skippable)}\n\nCan be bypassed if you pass the --force flag`,
    );
  }
}

/** The release to go to; kubeadm pulls its images at this point, the lab finds or builds its programs. */
async function available(session: Session, target: string): Promise<Release> {
  session.out("[upgrade/preflight] Pulling images required for setting up a Kubernetes cluster");
  const release = await releaseOf(session.layout, minorOf(target), session.err);
  if (release?.version !== target) {
    const has = release ? `it has ${release.version}` : `it has no release of ${minorOf(target)}`;
    throw new KubeadmError(
      `failed to pull image "registry.k8s.io/kube-apiserver:${target}": not in this lab's repository; ${has}`,
    );
  }
  return release;
}

async function replaceControlPlane(session: Session, release: Release): Promise<void> {
  const { out } = session;
  out(
    `[upgrade/control-plane] Upgrading your static Pod-hosted control plane to version "${release.version}" (timeout: 5m0s)...`,
  );
  const replaced: { name: ControlPlaneComponent; from: Program }[] = [];
  for (const name of CONTROL_PLANE) {
    out(`[upgrade/staticpods] Preparing for "${name}" upgrade`);
    const swapped = await swap(session.layout, name, release);
    if (swapped.result === "equal") {
      out(`[upgrade/staticpods] Current and new manifests of ${name} are equal, skipping upgrade`);
      continue;
    }
    replaced.push({ name, from: swapped.from });
    if (swapped.result === "failed") {
      await session.note(`${name} ${release.version} did not come up: ${swapped.reason}`);
      await takeBack(session.layout, replaced);
      await writeState(session.layout, finished(await session.lab()));
      throw new KubeadmError(
        `error execution phase control-plane: couldn't upgrade control plane. kubeadm has tried to recover everything into the earlier state. Errors faced: ${swapped.reason}`,
      );
    }
    out("[upgrade/staticpods] Waiting for the kubelet to restart the component");
    out(`[upgrade/staticpods] Component "${name}" upgraded successfully!`);
    await session.note(`${name} went to ${release.version}, away for ${swapped.awayMs} ms`);
  }
  await allAlive(session);
  out("[upgrade/control-plane] The control plane instance for this node was successfully upgraded!");
}

/** A process that survived its own upgrade may still have died of another's: told here, not three stages later. */
async function allAlive(session: Session): Promise<void> {
  for (const name of CONTROL_PLANE) {
    const id = await processOf(session.layout, name);
    if (!id || !(await isAlive(id)))
      throw new KubeadmError(`${name} died during the upgrade; run the command again`);
  }
}

async function finish(session: Session, machine: Machine, target: string): Promise<void> {
  const state = await requireState(session.layout);
  session.out(
    '[upload-config] Storing the configuration used in ConfigMap "kubeadm-config" in the "kube-system" Namespace',
  );
  await session.withApi((api) => writeKubeadmConfig(api, state.name, target));
  await session.save({ ...machine, kubelet: { ...machine.kubelet, configMinor: minorOf(target) } });
  session.out("[upgrade/kubelet-config] The kubelet configuration for this node was successfully upgraded!");
  await writeState(session.layout, finished(state));
  session.out("");
  session.out(`[upgrade] SUCCESS! A control plane node of your cluster was upgraded to "${target}".`);
  session.out("");
  session.out(
    "[upgrade] Now please proceed with upgrading the rest of the nodes by following the right order.",
  );
}

function finished(state: LabState): LabState {
  const rest = { ...state };
  delete rest.upgradingTo;
  return rest;
}
