import { describe, expect, test } from "vitest";
import { type SnapshotFacts, type SnapshotQuestion, checkSnapshot } from "../../analysis/snapshot.ts";

const good: SnapshotFacts = {
  path: "/backup/snapshot.db",
  bytes: 4_000_000,
  takenAt: "2026-03-01T10:00:00Z",
  hash: "valid",
  copiedFromDisk: false,
  restoredRevision: 5210,
  liveRevision: 5200,
  clusterUid: "11111111-aaaa",
  etcdClusterId: "cdf818194e3a8c32",
};
const question: Omit<SnapshotQuestion, "snapshot"> = {
  now: "2026-03-01T10:05:00Z",
  maxAgeMinutes: 30,
  clusterUid: "11111111-aaaa",
  etcdClusterId: "CDF818194E3A8C32",
};
const codes = (more: Partial<SnapshotFacts>, ask: Partial<SnapshotQuestion> = {}): string[] =>
  checkSnapshot({ ...question, snapshot: { ...good, ...more }, ...ask }).map(
    ({ severity, code }) => `${severity} ${code}`,
  );

describe("ETC-05 is a snapshot good enough", () => {
  test.each<[string, Partial<SnapshotFacts>, string[]]>([
    ["fresh, verified, of this cluster", {}, []],
    ["an unfinished part", { path: "etcd-1699876800.part", hash: "absent" }, ["refuse SNAPSHOT-UNFINISHED"]],
    ["still packed", { path: "snapshot.db.zip", hash: "absent" }, ["refuse SNAPSHOT-PACKED"]],
    ["packed by another tool", { path: "snapshot.db.gz", hash: "absent" }, ["refuse SNAPSHOT-PACKED"]],
    [
      "copied from disk",
      { path: "member/snap/db", copiedFromDisk: true, hash: "absent" },
      ["warn SNAPSHOT-NO-HASH"],
    ],
    [
      "copied from disk, with a hash that does not fit",
      { copiedFromDisk: true, hash: "mismatch" },
      ["refuse SNAPSHOT-HASH"],
    ],
    ["a hash that does not fit", { hash: "mismatch" }, ["refuse SNAPSHOT-HASH"]],
    ["no hash", { hash: "absent" }, ["refuse SNAPSHOT-HASH"]],
    ["nobody looked at the hash", { hash: "unchecked" }, ["hold SNAPSHOT-UNVERIFIED"]],
    ["never restored", { restoredRevision: null }, ["hold SNAPSHOT-UNVERIFIED"]],
    ["restores to nothing", { restoredRevision: 0 }, ["refuse SNAPSHOT-EMPTY"]],
    ["restores to less than there was", { restoredRevision: 5199 }, ["refuse SNAPSHOT-BEHIND"]],
    ["no bytes", { bytes: 0, hash: "absent" }, ["refuse SNAPSHOT-EMPTY", "refuse SNAPSHOT-HASH"]],
    ["of another cluster", { clusterUid: "22222222-bbbb" }, ["refuse SNAPSHOT-CLUSTER"]],
    ["of another etcd", { etcdClusterId: "1" }, ["refuse SNAPSHOT-CLUSTER"]],
    ["of nobody knows which cluster", { clusterUid: null }, ["hold SNAPSHOT-CLUSTER"]],
    ["31 minutes old", { takenAt: "2026-03-01T09:34:00Z" }, ["hold SNAPSHOT-AGE"]],
    ["exactly 30 minutes old", { takenAt: "2026-03-01T09:35:00Z" }, []],
    ["the same moment in another zone", { takenAt: "2026-03-01T11:00:00+01:00" }, []],
    ["a clock half a minute ahead", { takenAt: "2026-03-01T10:05:30Z" }, []],
    ["from the future", { takenAt: "2026-03-01T11:00:00Z" }, ["refuse SNAPSHOT-AGE"]],
    ["taken at no time", { takenAt: "yesterday" }, ["hold SNAPSHOT-AGE"]],
  ])("%s", (_name, more, expected) => {
    expect(codes(more)).toEqual(expected);
  });

  test("none at all holds", () => {
    expect(
      checkSnapshot({ ...question, snapshot: null }).map(({ severity, code }) => [severity, code]),
    ).toEqual([["hold", "SNAPSHOT-MISSING"]]);
  });

  test("everything wrong is told at once", () => {
    expect(
      codes({ hash: "unchecked", clusterUid: "x", takenAt: "2025-01-01T00:00:00Z", restoredRevision: null }),
    ).toHaveLength(4);
  });

  test("no repair offers to skip the hash check as a way on", () => {
    for (const hash of ["mismatch", "absent", "unchecked"] as const) {
      const text = checkSnapshot({ ...question, snapshot: { ...good, hash } })
        .map(({ repair }) => repair)
        .join(" ");
      expect(text).not.toMatch(/skip/i);
    }
  });
});
