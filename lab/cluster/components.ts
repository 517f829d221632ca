import { resolve } from "node:path";
import { stringify } from "yaml";
import { kubeconfig } from "./kubeconfig.ts";
import { writeAtomic } from "./files.ts";
import { logOf, type Component, type Layout } from "./layout.ts";
import { pkiOf } from "./pki.ts";
import type { Launch } from "./process.ts";
import { KUBELET_LABEL, kwokConfig } from "./stages.ts";
import type { LabState } from "./state.ts";

const LOOPBACK = "127.0.0.1";
const POD_NETWORK = "10.240.0.0/12";
const SERVICE_NETWORK = "10.96.0.0/16";

/**
 * Both controllers elect a leader, as they do under kubeadm. There is one candidate of each, so the times are
 * long enough that a busy machine does not cost it the lease; who replaces one deletes the lease (see machine/).
 */
const ELECTION = { lease: "30s", renew: "25s", retry: "2s" };

export function apiserverUrl(state: Pick<LabState, "ports">): string {
  return `https://${LOOPBACK}:${state.ports.apiserver}`;
}

export function etcdUrl(state: Pick<LabState, "ports">): string {
  return `https://${LOOPBACK}:${state.ports.etcdClient}`;
}

/** Where a component answers whether it is healthy. */
export function healthUrl(component: Component, state: Pick<LabState, "ports">): string {
  const { ports } = state;
  switch (component) {
    case "etcd":
      return `${etcdUrl(state)}/health`;
    case "kube-apiserver":
      return `${apiserverUrl(state)}/readyz`;
    case "kube-controller-manager":
      return `https://${LOOPBACK}:${ports.controllerManager}/healthz`;
    case "kube-scheduler":
      return `https://${LOOPBACK}:${ports.scheduler}/healthz`;
    case "kwok":
      return `http://${LOOPBACK}:${ports.kwok}/healthz`;
  }
}

function etc(layout: Layout, name: string): string {
  return resolve(layout.etc, name);
}

/** Writes the files that the processes read: kubeconfigs, kwok's stages, scheduler and audit configuration. */
export async function writeComponentFiles(layout: Layout, state: LabState): Promise<void> {
  const pki = pkiOf(layout);
  const server = apiserverUrl(state);
  const clients = {
    "controller-manager": { user: "system:kube-controller-manager", client: pki.controllerManager },
    scheduler: { user: "system:kube-scheduler", client: pki.scheduler },
    kwok: { user: "lab:kwok", client: pki.kwok },
  };
  for (const [name, { user, client }] of Object.entries(clients)) {
    const text = await kubeconfig({ name: state.name, user, server, ca: pki.ca.cert, client });
    await writeAtomic(etc(layout, `${name}.kubeconfig`), text);
  }
  await writeAtomic(
    layout.kubeconfig,
    await kubeconfig({
      name: state.name,
      user: `${state.name}-admin`,
      server,
      ca: pki.ca.cert,
      client: pki.admin,
    }),
  );
  await writeAtomic(etc(layout, "kwok.yaml"), await kwokConfig(state.config));
  await writeAtomic(etc(layout, "scheduler.yaml"), schedulerConfig(layout));
  await writeAtomic(etc(layout, "audit.yaml"), auditPolicy());
}

function schedulerConfig(layout: Layout): string {
  return stringify({
    apiVersion: "kubescheduler.config.k8s.io/v1",
    kind: "KubeSchedulerConfiguration",
    clientConnection: { kubeconfig: etc(layout, "scheduler.kubeconfig"), qps: 1000, burst: 2000 },
    leaderElection: {
      leaderElect: true,
      leaseDuration: ELECTION.lease,
      renewDeadline: ELECTION.renew,
      retryPeriod: ELECTION.retry,
    },
  });
}

/** Every write by someone else than the simulated kubelets; heartbeats and events would drown the rest. */
function auditPolicy(): string {
  return stringify({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [
      { level: "None", users: ["lab:kwok"] },
      {
        level: "None",
        resources: [
          { group: "coordination.k8s.io", resources: ["leases"] },
          { group: "", resources: ["events"] },
          { group: "events.k8s.io", resources: ["events"] },
        ],
      },
      { level: "Metadata", verbs: ["create", "update", "patch", "delete", "deletecollection"] },
      { level: "None" },
    ],
  });
}

/** How a component is started, from the lab's state alone: a restart in another version differs in the file only. */
export function launchOf(component: Component, layout: Layout, state: LabState): Launch {
  const file = state.components[component].file;
  const flags = flagsOf(component, layout, state);
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  return { name: component, file, args };
}

function flagsOf(
  component: Component,
  layout: Layout,
  state: LabState,
): Record<string, string | number | boolean> {
  const pki = pkiOf(layout);
  const { ports } = state;
  switch (component) {
    case "etcd":
      return {
        name: state.name,
        "data-dir": layout.etcd,
        "listen-client-urls": etcdUrl(state),
        "advertise-client-urls": etcdUrl(state),
        "listen-peer-urls": `https://${LOOPBACK}:${ports.etcdPeer}`,
        "initial-advertise-peer-urls": `https://${LOOPBACK}:${ports.etcdPeer}`,
        "initial-cluster": `${state.name}=https://${LOOPBACK}:${ports.etcdPeer}`,
        "initial-cluster-token": state.name,
        "cert-file": pki.etcdServer.cert,
        "key-file": pki.etcdServer.key,
        "client-cert-auth": true,
        "trusted-ca-file": pki.etcdCa.cert,
        "peer-cert-file": pki.etcdPeer.cert,
        "peer-key-file": pki.etcdPeer.key,
        "peer-client-cert-auth": true,
        "peer-trusted-ca-file": pki.etcdCa.cert,
        // Without fsync a write is in the kernel's page cache, which survives the death of any process, and not a
        // power cut. A lab is thrown away after a power cut. A snapshot is read from the open database inside
        // one read transaction and carries its own checksum, so its validity does not depend on fsync.
        "unsafe-no-fsync": true,
      };
    case "kube-apiserver":
      return {
        "bind-address": LOOPBACK,
        "advertise-address": LOOPBACK,
        "secure-port": ports.apiserver,
        // The `kubernetes` service would need an endpoint outside 127.0.0.0/8, which a lab does not have.
        "endpoint-reconciler-type": "none",
        "tls-cert-file": pki.apiserver.cert,
        "tls-private-key-file": pki.apiserver.key,
        "client-ca-file": pki.ca.cert,
        "etcd-servers": etcdUrl(state),
        "etcd-cafile": pki.etcdCa.cert,
        "etcd-certfile": pki.etcdApiserver.cert,
        "etcd-keyfile": pki.etcdApiserver.key,
        "requestheader-client-ca-file": pki.frontProxyCa.cert,
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": pki.frontProxyClient.cert,
        "proxy-client-key-file": pki.frontProxyClient.key,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": true,
        "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
        "service-account-key-file": pki.serviceAccount.cert,
        "service-account-signing-key-file": pki.serviceAccount.key,
        "service-cluster-ip-range": SERVICE_NETWORK,
        // On SIGTERM: answer new requests with 429 and Retry-After, finish those in flight, give open watches 2 s.
        // Without it the server waits a minute for watches that never end (60 s measured, with kwok and the
        // controllers connected).
        "shutdown-send-retry-after": true,
        "max-requests-inflight": 2000,
        "max-mutating-requests-inflight": 1000,
        profiling: false,
        ...(state.config.audit
          ? {
              "audit-policy-file": etc(layout, "audit.yaml"),
              "audit-log-path": logOf(layout, "audit"),
              "audit-log-maxsize": 200,
              "audit-log-maxbackup": 1,
            }
          : {}),
      };
    case "kube-controller-manager": {
      const config = etc(layout, "controller-manager.kubeconfig");
      return {
        kubeconfig: config,
        "authentication-kubeconfig": config,
        "authorization-kubeconfig": config,
        "bind-address": LOOPBACK,
        "secure-port": ports.controllerManager,
        "tls-cert-file": pki.loopback.cert,
        "tls-private-key-file": pki.loopback.key,
        "root-ca-file": pki.ca.cert,
        "cluster-signing-cert-file": pki.ca.cert,
        "cluster-signing-key-file": pki.ca.key,
        "service-account-private-key-file": pki.serviceAccount.key,
        "use-service-account-credentials": true,
        "allocate-node-cidrs": true,
        "cluster-cidr": POD_NETWORK,
        "service-cluster-ip-range": SERVICE_NETWORK,
        "node-monitor-grace-period": `${state.config.nodeMonitorGraceSeconds}s`,
        "node-monitor-period": "2s",
        "leader-elect-lease-duration": ELECTION.lease,
        "leader-elect-renew-deadline": ELECTION.renew,
        "leader-elect-retry-period": ELECTION.retry,
        // With the stock 20 requests a second, 3,000 pods take minutes to appear.
        "kube-api-qps": 1000,
        "kube-api-burst": 2000,
        "concurrent-deployment-syncs": 20,
        "concurrent-replicaset-syncs": 20,
        profiling: false,
      };
    }
    case "kube-scheduler":
      return {
        config: etc(layout, "scheduler.yaml"),
        "authentication-kubeconfig": etc(layout, "scheduler.kubeconfig"),
        "authorization-kubeconfig": etc(layout, "scheduler.kubeconfig"),
        "bind-address": LOOPBACK,
        "secure-port": ports.scheduler,
        "tls-cert-file": pki.loopback.cert,
        "tls-private-key-file": pki.loopback.key,
      };
    case "kwok":
      return {
        kubeconfig: etc(layout, "kwok.kubeconfig"),
        config: etc(layout, "kwok.yaml"),
        "manage-nodes-with-label-selector": `${KUBELET_LABEL}=running`,
        "server-address": `${LOOPBACK}:${ports.kwok}`,
        // Renewed every quarter of it: four renewals fit into the time after which a silent Node is NotReady.
        "node-lease-duration-seconds": state.config.nodeMonitorGraceSeconds,
      };
  }
}
