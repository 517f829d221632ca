import { Api } from "../cluster/api.ts";
import { apiserverUrl, launchOf } from "../cluster/components.ts";
import { probe, waitHealthy } from "../cluster/health.ts";
import { isAlive } from "../cluster/identity.ts";
import type { Component, Layout } from "../cluster/layout.ts";
import { pkiOf } from "../cluster/pki.ts";
import { processOf, start, stop } from "../cluster/process.ts";
import { requireState, writeState, type LabState } from "../cluster/state.ts";
import { messageOf } from "../cluster/errors.ts";
import type { Release } from "./repository.ts";

/** In the order in which kubeadm replaces them: nothing may be newer than the API server. */
export const CONTROL_PLANE = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;
export type ControlPlaneComponent = (typeof CONTROL_PLANE)[number];

/** Longer than an API server's own wait for requests in flight. */
const STOP_GRACE_MS = 60_000;
const HEALTH_LIMIT_MS = 120_000;

/** A release of one component: its version and its program's file. */
export type Program = LabState["components"][Component];

export type Swap =
  | { readonly result: "equal" }
  | { readonly result: "upgraded"; readonly awayMs: number; readonly from: Program }
  | { readonly result: "failed"; readonly reason: string; readonly from: Program };

/**
 * Stops one component and starts it in another release, on the same ports and data. The state is written between
 * the two, so that it never names a release for a process that runs another: killed at any moment, a second call
 * sees a process in the old release, or none, and goes on from there.
 * A release that does not become healthy is reported, not taken back: see `takeBack`.
 */
export async function swap(layout: Layout, name: ControlPlaneComponent, release: Release): Promise<Swap> {
  const state = await requireState(layout);
  const from = state.components[name];
  const next = { version: release.version, file: release.files[name] };
  const id = await processOf(layout, name);
  const alive = id !== undefined && (await isAlive(id));
  if (from.version === next.version && alive && (await probe(name, layout, state)).healthy)
    return { result: "equal" };
  const began = Date.now();
  try {
    await restartAs(layout, name, next);
    return { result: "upgraded", awayMs: Date.now() - began, from };
  } catch (error) {
    return { result: "failed", reason: messageOf(error), from };
  }
}

/**
 * Brings components back to what they were, last replaced first, so that at no moment one of them is newer than
 * the API server. kubeadm does the same with the manifests it has backed up.
 */
export async function takeBack(
  layout: Layout,
  replaced: readonly { readonly name: ControlPlaneComponent; readonly from: Program }[],
): Promise<void> {
  for (const { name, from } of [...replaced].reverse()) await restartAs(layout, name, from);
  await revive(layout);
}

/**
 * Starts again what has ended meanwhile: a controller that cannot renew its leader's lease for ten seconds exits, and on
 * a busy machine an API server may take that long to come back. The kubelet does this for static pods.
 */
async function revive(layout: Layout): Promise<void> {
  for (const name of CONTROL_PLANE) {
    const id = await processOf(layout, name);
    if (id === undefined || !(await isAlive(id))) {
      await restartAs(layout, name, (await requireState(layout)).components[name]);
    }
  }
}

async function restartAs(layout: Layout, name: ControlPlaneComponent, program: Program): Promise<void> {
  await stop(layout, name, STOP_GRACE_MS);
  if (name !== "kube-apiserver") await releaseLease(layout, name);
  const before = await requireState(layout);
  const state = { ...before, components: { ...before.components, [name]: program } };
  await writeState(layout, state);
  await start(layout, launchOf(name, layout, state));
  await waitHealthy(name, layout, state, { limitMs: HEALTH_LIMIT_MS });
}

/**
 * Gives up the leader's lease for a process that was just stopped and cannot. Its successor would wait for the
 * lease to run out, half a minute in which nothing is scheduled or reconciled; with more than one candidate, as in
 * a real control plane, another one takes over at once.
 */
async function releaseLease(layout: Layout, name: ControlPlaneComponent): Promise<void> {
  const pki = pkiOf(layout);
  const api = await Api.connect(apiserverUrl(await requireState(layout)), pki.ca.cert, pki.admin);
  try {
    await api.remove(`/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/${name}`);
  } finally {
    api.close();
  }
}
