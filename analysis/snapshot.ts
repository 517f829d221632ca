/** Is an etcd snapshot good enough to go past a point of no return? */

import type { Finding } from "./finding.ts";

export interface SnapshotFacts {
  readonly path: string;
  /** Of the file, in bytes. */
  readonly bytes: number;
  /** When it was taken, ISO 8601 with a zone, e.g. `2026-01-31T10:00:00Z`. */
  readonly takenAt: string;
  /**
   * The sha256 that `etcdctl snapshot save` appends to the file, held against the content. `absent`: the file was not
   * saved that way, or is not complete. `unchecked`: nobody looked.
   */
  readonly hash: "valid" | "mismatch" | "absent" | "unchecked";
  /** A copy of a member's `member/snap/db`, taken while that etcd was stopped: has no hash by nature. */
  readonly copiedFromDisk: boolean;
  /** Revision that a restore into a scratch folder came up with; null when no restore was tried. */
  readonly restoredRevision: number | null;
  /** Revision of the live etcd when it was taken; null when not known. */
  readonly liveRevision: number | null;
  /** UID of kube-system, and etcd's cluster id (hexadecimal), where it was taken; null when not known. */
  readonly clusterUid: string | null;
  readonly etcdClusterId: string | null;
}

export interface SnapshotQuestion {
  /** Null: there is none. */
  readonly snapshot: SnapshotFacts | null;
  /** ISO 8601; given, so that the answer depends on nothing else. */
  readonly now: string;
  readonly maxAgeMinutes: number;
  /** Of the cluster that is about to be changed. */
  readonly clusterUid: string;
  readonly etcdClusterId?: string;
}

/** The largest age limit there is: above it nobody knows any more what the way back would lose. */
export const LONGEST_AGE_MINUTES = 60;

/** Clocks of two machines may differ by this much before a snapshot counts as one from the future. */
const CLOCK_SKEW_MS = 60_000;

/** Nothing means: go on. Every other answer but a warning is a stop; an old snapshot only asks for a new one (`hold`). */
export function checkSnapshot(question: SnapshotQuestion): Finding[] {
  const { snapshot } = question;
  if (snapshot === null) {
    return [finding("SNAPSHOT-MISSING", "hold", "etcd snapshot", "there is none", "take one and verify it")];
  }
  return [...checkIdentity(snapshot, question), ...checkContent(snapshot), ...checkAge(snapshot, question)];
}

function checkIdentity(snapshot: SnapshotFacts, { clusterUid, etcdClusterId }: SnapshotQuestion): Finding[] {
  const about = (message: string, severity: Finding["severity"] = "refuse"): Finding =>
    finding(
      "SNAPSHOT-CLUSTER",
      severity,
      snapshot.path,
      message,
      "take a snapshot of this cluster and verify it",
    );
  const findings: Finding[] = [];
  if (snapshot.clusterUid === null) findings.push(about("does not say which cluster it is of", "hold"));
  else if (snapshot.clusterUid !== clusterUid) {
    findings.push(about(`is of cluster ${snapshot.clusterUid}, and this is ${clusterUid}`));
  }
  const { etcdClusterId: taken } = snapshot;
  if (etcdClusterId !== undefined && taken !== null && taken.toLowerCase() !== etcdClusterId.toLowerCase()) {
    findings.push(about(`is of etcd cluster ${taken}, and this is ${etcdClusterId}`));
  }
  return findings;
}

function checkContent(snapshot: SnapshotFacts): Finding[] {
  const { path, bytes, hash, copiedFromDisk, restoredRevision, liveRevision } = snapshot;
  const findings: Finding[] = [];
  const add = (code: string, severity: Finding["severity"], message: string, repair: string): void => {
    findings.push(finding(code, severity, path, message, repair));
  };
  if (bytes === 0) add("SNAPSHOT-EMPTY", "refuse", "is empty", "take another one");
  const suffix = /\.(part|partial|tmp|zip|gz|tgz|zst|xz|bz2)$/i.exec(path)?.[1]?.toLowerCase();
  if (suffix !== undefined && /^(part|partial|tmp)$/.test(suffix)) {
    add(
      "SNAPSHOT-UNFINISHED",
      "refuse",
      "is the unfinished part of one",
      "take another one, and wait until it is complete",
    );
  } else if (suffix !== undefined) {
    add("SNAPSHOT-PACKED", "refuse", `is packed (.${suffix})`, "unpack it, then verify what comes out");
  } else if (hash === "mismatch") {
    add("SNAPSHOT-HASH", "refuse", "is damaged: its content does not fit the hash in it", "take another one");
  } else if (hash === "unchecked") {
    add("SNAPSHOT-UNVERIFIED", "hold", "has not been verified", "run etcdutl snapshot status on it");
  } else if (hash === "absent" && copiedFromDisk) {
    add(
      "SNAPSHOT-NO-HASH",
      "warn",
      "is a copy of a member's data file and has no hash to verify it by",
      "take one with etcdctl snapshot save; this one restores only with its hash check off, and only if etcd was stopped",
    );
  } else if (hash === "absent") {
    add(
      "SNAPSHOT-HASH",
      "refuse",
      "has no hash in it, so it is not complete or was not saved by etcd",
      "take another one",
    );
  }
  if (restoredRevision === null) {
    add(
      "SNAPSHOT-UNVERIFIED",
      "hold",
      "has not been restored for a trial",
      "restore it into a scratch folder",
    );
  } else if (restoredRevision < 1) {
    add(
      "SNAPSHOT-EMPTY",
      "refuse",
      `restores to revision ${restoredRevision}, an empty store`,
      "take another one",
    );
  } else if (liveRevision !== null && restoredRevision < liveRevision) {
    const lost = liveRevision - restoredRevision;
    add(
      "SNAPSHOT-BEHIND",
      "refuse",
      `restores to revision ${restoredRevision}, ${lost} behind etcd when it was taken`,
      "take another one, from a member that is in sync",
    );
  }
  return findings;
}

function checkAge({ path, takenAt }: SnapshotFacts, { now, maxAgeMinutes }: SnapshotQuestion): Finding[] {
  const taken = Date.parse(takenAt);
  const present = Date.parse(now);
  if (Number.isNaN(taken) || Number.isNaN(present)) {
    const wrong = Number.isNaN(taken) ? takenAt : now;
    return [
      finding(
        "SNAPSHOT-AGE",
        "hold",
        path,
        `its age is not known: "${wrong}" is no time`,
        "take another one",
      ),
    ];
  }
  if (taken > present + CLOCK_SKEW_MS) {
    return [
      finding(
        "SNAPSHOT-AGE",
        "refuse",
        path,
        `is from the future: taken ${takenAt}, and it is ${now}`,
        "set the clocks right, then take another one",
      ),
    ];
  }
  const minutes = Math.max(0, present - taken) / 60_000;
  if (minutes <= maxAgeMinutes) return [];
  const age = `is ${Math.floor(minutes)} minutes old, and at most ${maxAgeMinutes} are allowed`;
  return [finding("SNAPSHOT-AGE", "hold", path, age, "take a fresh one and verify it")];
}

function finding(
  code: string,
  severity: Finding["severity"],
  subject: string,
  message: string,
  repair: string,
): Finding {
  return {
    code,
    severity,
    subject,
    message,
    rule: "nothing that can't be undone starts without a fresh, verified snapshot of this very cluster",
    repair,
  };
}
