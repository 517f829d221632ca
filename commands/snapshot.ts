/**
 * Takes an etcd snapshot and proves that it can be restored: saved by `etcdctl snapshot save`, its hash and numbers read
 * by `etcdutl snapshot status`, then restored (hash check on) into a scratch folder, which is removed again.
 * Sources: etcd docs, disaster recovery; the hash that `snapshot save` appends is checked by `snapshot restore`.
 */
import { chmod, mkdtemp, rename, rm, stat, statfs } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { defineCommand, Refusal, type Context } from "./context.ts";
import { EtcdAccess, EtcdTool, type EtcdEndpointStatus } from "./etcd.ts";
import { sha256OfFile } from "./files.ts";

/** What is known of a verified snapshot; later commands are bound to it. */
export const SnapshotFacts = z.object({
  file: z.string(),
  sha256: z.string(),
  bytes: z.number(),
  /** etcd's own hash of the keys, as `etcdutl snapshot status` prints it (hexadecimal). */
  hash: z.string(),
  revision: z.number(),
  /** Of the live etcd just before it was taken. */
  liveRevision: z.number(),
  totalKeys: z.number(),
  takenAt: z.string(),
  etcdClusterId: z.string(),
  /** UID of kube-system of the cluster it was taken for. */
  clusterUid: z.string(),
  restored: z.literal(true),
});
export type SnapshotFacts = z.output<typeof SnapshotFacts>;

const Spec = z.strictObject({ etcd: EtcdAccess });

export const snapshot = defineCommand({
  spec: Spec,
  mutates: false,
  run: async (context, spec) => {
    const { facts, seen } = await takeSnapshot(context, spec.etcd);
    return {
      summary: `snapshot of revision ${facts.revision}, ${facts.totalKeys} keys, restored once: ${facts.file}`,
      seen,
      facts: { snapshot: facts },
    };
  },
});

/** Takes one and verifies it. Throws Refusal when there is no member to take it from or no room for it. */
export async function takeSnapshot(
  context: Context,
  access: EtcdAccess,
): Promise<{ readonly facts: SnapshotFacts; readonly seen: Readonly<Record<string, unknown>> }> {
  const etcd = new EtcdTool(access, { signal: context.signal });
  const endpoints = await etcd.status();
  const source = chooseSource(endpoints);
  const takenAt = context.now();
  const file = await context.path("snapshots", `etcd-${stamp(takenAt)}-${context.document.stage}.db`);
  await refuseIfDiskIsFull(file, source.dbSize);
  context.progress(
    `saving a snapshot from ${source.endpoint} (${source.dbSize} bytes, revision ${source.revision})`,
  );
  const facts = await takeAndVerify(context, etcd, source, file, takenAt);
  return { facts, seen: { endpoints, source: source.endpoint } };
}

async function takeAndVerify(
  context: Context,
  etcd: EtcdTool,
  source: EtcdEndpointStatus,
  file: string,
  takenAt: Date,
): Promise<SnapshotFacts> {
  // Under another name until verified: whatever is called .db here can be restored.
  const unverified = `${file}.unverified`;
  const scratch = await mkdtemp(path.join(path.dirname(file), "restore-"));
  try {
    await etcd.ctl(["snapshot", "save", unverified], [source.endpoint]);
    // A snapshot holds every Secret of the cluster.
    await chmod(unverified, 0o600);
    const saved = parseStatus(await etcd.utl(["snapshot", "status", unverified, "-w", "json"]));
    if (saved.revision < source.revision) {
      throw new Error(
        `the snapshot is of revision ${saved.revision}, older than ${source.revision}, which was there before it`,
      );
    }
    context.progress(`restoring it into a scratch folder (hash ${saved.hash}, ${saved.totalKey} keys)`);
    const data = path.join(scratch, "data");
    await etcd.utl(["snapshot", "restore", unverified, "--data-dir", data]);
    const restored = parseStatus(
      await etcd.utl(["snapshot", "status", path.join(data, "member", "snap", "db"), "-w", "json"]),
    );
    if (restored.revision !== saved.revision || restored.totalKey !== saved.totalKey) {
      throw new Error(
        `restored were ${restored.totalKey} keys at revision ${restored.revision}, saved ${saved.totalKey} at ${saved.revision}`,
      );
    }
    await rename(unverified, file);
    return {
      file,
      sha256: await sha256OfFile(file),
      bytes: (await stat(file)).size,
      hash: saved.hash,
      revision: saved.revision,
      liveRevision: source.revision,
      totalKeys: saved.totalKey,
      takenAt: takenAt.toISOString(),
      etcdClusterId: source.clusterId,
      clusterUid: context.document.bound.clusterUid ?? "",
      restored: true,
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
    await rm(unverified, { force: true });
  }
}

/** The member that is furthest and has no errors; never a learner, whose data may lag. */
function chooseSource(members: readonly EtcdEndpointStatus[]): EtcdEndpointStatus {
  const clusters = new Set(members.map((member) => member.clusterId));
  const fit = members.filter((member) => !member.isLearner && member.errors.length === 0);
  const best = [...fit].sort((a, b) => b.revision - a.revision)[0];
  if (clusters.size === 1 && best !== undefined) return best;
  throw new Refusal(
    "no snapshot was taken",
    [
      {
        code: clusters.size > 1 ? "ETCD-CLUSTERS" : "ETCD-NO-SOURCE",
        severity: "refuse",
        subject: "etcd.endpoints",
        message:
          clusters.size > 1
            ? `the endpoints belong to ${clusters.size} etcd clusters: ${[...clusters].join(", ")}`
            : `none of ${members.length} endpoints is a voter without errors`,
        rule: "a snapshot is taken from a healthy voter of the one etcd cluster of this Kubernetes cluster",
        repair: "compare with `etcdctl endpoint status -w table`, correct etcd.endpoints or mend the member",
      },
    ],
    { members },
  );
}

/** Saved file and restored copy are there at the same time. */
async function refuseIfDiskIsFull(file: string, dbSize: number): Promise<void> {
  const disk = await statfs(path.dirname(file));
  const free = disk.bavail * disk.bsize;
  const needed = Math.ceil(dbSize * 2.2);
  if (free >= needed) return;
  throw new Refusal("no snapshot was taken", [
    {
      code: "SNAPSHOT-DISK",
      severity: "refuse",
      subject: path.dirname(file),
      message: `${free} bytes are free, ${needed} are needed`,
      rule: "room for the snapshot and for its restored copy, with a tenth to spare",
      repair: "make room, or set cluster-migration:out to a larger disk",
    },
  ]);
}

const Status = z.object({
  hash: z.union([z.number(), z.string()]),
  revision: z.number(),
  totalKey: z.number(),
  totalSize: z.number(),
});

function parseStatus(text: string): { hash: string; revision: number; totalKey: number } {
  const status = Status.parse(JSON.parse(text));
  return {
    hash: typeof status.hash === "number" ? status.hash.toString(16).padStart(8, "0") : status.hash,
    revision: status.revision,
    totalKey: status.totalKey,
  };
}

const stamp = (date: Date): string => date.toISOString().replace(/[-:]/g, "").replace(/\.\d+/, "");
