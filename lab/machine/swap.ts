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

export type Swap =
  | { readonly result: "equal" }
  | { readonly result: "upgraded"; readonly awayMs: number }
  | { readonly result: "rolled-back"; readonly reason: string };

/**
 * Stops one component and starts it in another release, on the same ports and data. The state is written between
 * the two, so that it never names a release for a process that runs another: killed at any moment, a second call
 * sees a process in the old release, or none, and goes on from there.
 * A release that does not become healthy is taken back, as kubeadm takes back the manifest.
 */
export async function swap(layout: Layout, name: ControlPlaneComponent, release: Release): Promise<Swap> {
  const before = await requireState(layout);
  const old = before.components[name];
  const next = { version: release.version, file: release.files[name] };
  const id = await processOf(layout, name);
  const alive = id !== undefined && (await isAlive(id));
  if (old.version === next.version && alive && (await probe(name, layout, before)).healthy)
    return { result: "equal" };

  const began = Date.now();
  try {
    await restartAs(layout, name, next);
    return { result: "upgraded", awayMs: Date.now() - began };
  } catch (error) {
    if (old.version === next.version) throw error;
    await restartAs(layout, name, old);
    return { result: "rolled-back", reason: messageOf(error) };
  }
}

async function restartAs(
  layout: Layout,
  name: ControlPlaneComponent,
  program: LabState["components"][Component],
): Promise<void> {
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
