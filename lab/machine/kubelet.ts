import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Api } from "../cluster/api.ts";
import { codeOf } from "../cluster/errors.ts";
import { KUBELET_LABEL, KUBELET_VERSION_ANNOTATION } from "../cluster/stages.ts";
import type { Session } from "./session.ts";
import type { Machine } from "./state.ts";
import { minorNumber, minorOf } from "./versions.ts";

const NOT_ACTIVE = 3;

/** `systemctl daemon-reload`, and `start`, `restart`, `stop`, `is-active` of the kubelet. */
export async function systemctl(session: Session, args: readonly string[]): Promise<number> {
  const [verb, unit, ...rest] = args;
  if (verb === "daemon-reload" && unit === undefined) return 0;
  const known = ["start", "restart", "stop", "is-active"];
  if (verb === undefined || !known.includes(verb) || rest.length > 0) {
    session.err(
      `Unknown command verb ${verb ?? ""} (this lab's machine plays daemon-reload and ${known.join(", ")} kubelet)`,
    );
    return 1;
  }
  if (unit !== "kubelet" && unit !== "kubelet.service") {
    session.err(`Failed to ${verb} ${unit ?? ""}: Unit ${unit ?? ""} not found.`);
    return 5;
  }
  const machine = await session.machine();
  switch (verb) {
    case "is-active": {
      // systemd shows a unit that exits and is restarted over and over (Restart=always) as activating.
      const shown = { running: "active", stopped: "inactive", failed: "activating" } as const;
      session.out(shown[machine.kubelet.state]);
      return machine.kubelet.state === "running" ? 0 : NOT_ACTIVE;
    }
    case "stop":
      await silence(session, machine, "stopped");
      return 0;
    case "start":
      if (machine.kubelet.state !== "running") await startKubelet(session, machine);
      return 0;
    default:
      await startKubelet(session, machine);
      return 0;
  }
}

/**
 * Starts the installed kubelet. As with systemd, the command is done before the Node reports the new version:
 * kwok's stage `node-kubelet-started` brings it in a moment later.
 */
async function startKubelet(session: Session, machine: Machine): Promise<void> {
  if (session.fault?.action === "kubelet-down") {
    await session.note(`fault: the kubelet does not come back (${session.fault.message})`);
    await silence(session, machine, "failed");
    return;
  }
  const version = machine.packages.kubelet;
  await warnOfSkew(session, machine, version);
  await patchNode(session, {
    labels: { [KUBELET_LABEL]: "running" },
    annotations: { [KUBELET_VERSION_ANNOTATION]: version },
  });
  await session.save({ ...machine, kubelet: { ...machine.kubelet, state: "running", version } });
  await session.note(`kubelet ${version} started`);
}

/** Takes the Node out of kwok's hands: nobody renews its lease, and the node lifecycle controller finds it silent. */
async function silence(session: Session, machine: Machine, state: "stopped" | "failed"): Promise<void> {
  await patchNode(session, { labels: { [KUBELET_LABEL]: null } });
  await session.save({ ...machine, kubelet: { ...machine.kubelet, state } });
  await session.note(`kubelet ${state}`);
}

/**
 * A kubelet newer than the API server is outside the version-skew policy. What would go wrong then differs from
 * release to release, so the lab plays nothing of it; it only writes it down.
 */
async function warnOfSkew(session: Session, machine: Machine, version: string): Promise<void> {
  const server = (await session.lab()).components["kube-apiserver"].version;
  if (minorNumber(version) > minorNumber(server)) {
    await session.note(
      `warning: kubelet ${version} is newer than kube-apiserver ${server}: outside the version-skew policy`,
    );
  }
  if (minorOf(version) !== machine.kubelet.configMinor) {
    await session.note(
      `warning: kubelet ${version} started with the configuration of ${machine.kubelet.configMinor}; \`kubeadm upgrade\` was not run before it`,
    );
  }
}

/** systemctl does not need the API server, so neither may this fail because it is away for a moment. */
async function patchNode(
  session: Session,
  metadata: { labels: Record<string, string | null>; annotations?: Record<string, string> },
): Promise<void> {
  const deadline = Date.now() + 30_000;
  const patch = (api: Api): Promise<unknown> => api.patch(`/api/v1/nodes/${session.node}`, { metadata });
  for (;;) {
    try {
      await session.withApi(patch);
      return;
    } catch (error) {
      const away = !(error instanceof ApiError) || error.status >= 500;
      if (!away || Date.now() > deadline) throw error;
      await session.note(`the API server is away (${codeOf(error) ?? "no answer"}); trying again`);
      await sleep(500);
    }
  }
}
