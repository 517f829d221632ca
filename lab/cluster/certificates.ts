import "./reflect.ts";
import { randomBytes, type webcrypto } from "node:crypto";
import { mkdir } from "node:fs/promises";
import * as x509 from "@peculiar/x509";
import { writeAtomic } from "./files.ts";
import type { Layout } from "./layout.ts";
import { pkiOf, type Pair, type Pki } from "./pki.ts";

/** The first address of the service network: the `kubernetes` service. */
const KUBERNETES_SERVICE_IP = "10.96.0.1";
const DAYS = 30;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

interface Authority {
  readonly certificate: x509.X509Certificate;
  readonly keys: webcrypto.CryptoKeyPair;
}

interface Request {
  readonly name: x509.JsonName;
  readonly dns?: readonly string[];
  readonly ip?: readonly string[];
  readonly usages: readonly x509.ExtendedKeyUsage[];
}

/**
 * Makes a lab's authorities, certificates and service-account keys: ECDSA P-256, valid for 30 days. Names follow
 * the Kubernetes page "PKI certificates and requirements", so that the roles bound by default apply.
 */
export async function createPki(layout: Layout, labName: string): Promise<Pki> {
  const pki = pkiOf(layout);
  await mkdir(layout.pki, { recursive: true, mode: 0o700 });
  const server = [x509.ExtendedKeyUsage.serverAuth];
  const client = [x509.ExtendedKeyUsage.clientAuth];
  const both = [...server, ...client];
  const here = { dns: ["localhost"], ip: ["127.0.0.1"] };

  const ca = await authority(pki.ca, `${labName}-ca`);
  const etcdCa = await authority(pki.etcdCa, `${labName}-etcd-ca`);
  const frontProxyCa = await authority(pki.frontProxyCa, `${labName}-front-proxy-ca`);
  await Promise.all([
    issue(etcdCa, pki.etcdServer, { name: [{ CN: ["etcd"] }], ...here, usages: both }),
    issue(etcdCa, pki.etcdPeer, { name: [{ CN: ["etcd"] }], ...here, usages: both }),
    issue(etcdCa, pki.etcdApiserver, { name: [{ CN: ["kube-apiserver-etcd-client"] }], usages: client }),
    issue(etcdCa, pki.etcdClient, { name: [{ CN: ["lab-etcd-client"] }], usages: client }),
    issue(frontProxyCa, pki.frontProxyClient, { name: [{ CN: ["front-proxy-client"] }], usages: client }),
    issue(ca, pki.apiserver, {
      name: [{ CN: ["kube-apiserver"] }],
      dns: [
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
      ],
      ip: ["127.0.0.1", KUBERNETES_SERVICE_IP],
      usages: server,
    }),
    issue(ca, pki.loopback, { name: [{ CN: ["localhost"] }], ...here, usages: server }),
    issue(ca, pki.admin, { name: [{ O: ["system:masters"] }, { CN: ["kubernetes-admin"] }], usages: client }),
    issue(ca, pki.controllerManager, { name: [{ CN: ["system:kube-controller-manager"] }], usages: client }),
    issue(ca, pki.scheduler, { name: [{ CN: ["system:kube-scheduler"] }], usages: client }),
    issue(ca, pki.kwok, { name: [{ O: ["lab:kwok"] }, { CN: ["lab:kwok"] }], usages: client }),
    serviceAccountKeys(pki.serviceAccount),
  ]);
  return pki;
}

async function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  // An hour back, so that a clock a little behind (a container's, a remote viewer's) accepts the certificate.
  return { notBefore: new Date(now - 3_600_000), notAfter: new Date(now + DAYS * 86_400_000) };
}

/** 127 random bits: positive, and unique without a counter to keep. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01;
  return bytes.toString("hex");
}

async function authority(pair: Pair, commonName: string): Promise<Authority> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: [{ CN: [commonName] }],
    ...validity(),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign | x509.KeyUsageFlags.digitalSignature,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  await writeAtomic(pair.cert, certificate.toString("pem"), 0o644);
  await writeAtomic(pair.key, await privatePem(keys.privateKey));
  return { certificate, keys };
}

async function issue(by: Authority, pair: Pair, request: Request): Promise<void> {
  const keys = await newKeys();
  const names: x509.JsonGeneralName[] = [
    ...(request.dns ?? []).map((value) => ({ type: "dns" as const, value })),
    ...(request.ip ?? []).map((value) => ({ type: "ip" as const, value })),
  ];
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: request.name,
    issuer: by.certificate.subjectName,
    ...validity(),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: by.keys.privateKey,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([...request.usages]),
      await x509.AuthorityKeyIdentifierExtension.create(by.keys.publicKey),
      ...(names.length > 0 ? [new x509.SubjectAlternativeNameExtension(names)] : []),
    ],
  });
  await writeAtomic(pair.cert, certificate.toString("pem"), 0o644);
  await writeAtomic(pair.key, await privatePem(keys.privateKey));
}

async function serviceAccountKeys(pair: Pair): Promise<void> {
  const keys = await newKeys();
  const spki = await crypto.subtle.exportKey("spki", keys.publicKey);
  await writeAtomic(pair.cert, x509.PemConverter.encode(spki, "PUBLIC KEY"), 0o644);
  await writeAtomic(pair.key, await privatePem(keys.privateKey));
}

async function privatePem(key: webcrypto.CryptoKey): Promise<string> {
  return x509.PemConverter.encode(await crypto.subtle.exportKey("pkcs8", key), "PRIVATE KEY");
}
