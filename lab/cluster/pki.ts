import { resolve } from "node:path";
import type { Layout } from "./layout.ts";

/** A certificate's file and its key's file, PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Every certificate of a lab, by what it is for. Three authorities, as kubeadm has: the cluster's, etcd's and the front proxy's. */
export interface Pki {
  readonly ca: Pair;
  readonly etcdCa: Pair;
  /** Signs what the API server shows aggregated API servers. */
  readonly frontProxyCa: Pair;
  readonly frontProxyClient: Pair;
  readonly etcdServer: Pair;
  readonly etcdPeer: Pair;
  /** What the API server shows etcd. */
  readonly etcdApiserver: Pair;
  /** What people and tools show etcd (`etcdctl`, health). */
  readonly etcdClient: Pair;
  readonly apiserver: Pair;
  /** What controller-manager and scheduler serve their health with. */
  readonly loopback: Pair;
  readonly admin: Pair;
  readonly controllerManager: Pair;
  readonly scheduler: Pair;
  readonly kwok: Pair;
  /** Service-account tokens: `key` signs, `cert` holds the public key that verifies. */
  readonly serviceAccount: Pair;
}

/** The paths of a lab's certificates, made or not. */
export function pkiOf(layout: Layout): Pki {
  const pair = (name: string): Pair => ({
    cert: resolve(layout.pki, `${name}.crt`),
    key: resolve(layout.pki, `${name}.key`),
  });
  return {
    ca: pair("ca"),
    etcdCa: pair("etcd-ca"),
    frontProxyCa: pair("front-proxy-ca"),
    frontProxyClient: pair("front-proxy-client"),
    etcdServer: pair("etcd-server"),
    etcdPeer: pair("etcd-peer"),
    etcdApiserver: pair("apiserver-etcd-client"),
    etcdClient: pair("etcd-client"),
    apiserver: pair("apiserver"),
    loopback: pair("loopback"),
    admin: pair("admin"),
    controllerManager: pair("controller-manager"),
    scheduler: pair("scheduler"),
    kwok: pair("kwok"),
    serviceAccount: { cert: resolve(layout.pki, "sa.pub"), key: resolve(layout.pki, "sa.key") },
  };
}
