/** Snapshots, with scripts in the place of etcdctl and etcdutl that behave as they are told. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Refusal } from "../../commands/context.ts";
import { EtcdTool, parseEndpointStatus, quoteBigNumbers } from "../../commands/etcd.ts";
import { FreshSnapshot } from "../../commands/fresh.ts";
import { sha256OfFile } from "../../commands/files.ts";
import { snapshot, type SnapshotFacts } from "../../commands/snapshot.ts";
import { withCleanup } from "../cluster/cleanup.ts";
import { temporaryFolder, testContext, untouchable } from "./context.ts";

withCleanup();

interface Member {
  readonly revision?: number;
  readonly cluster?: string;
  readonly learner?: boolean;
  readonly errors?: readonly string[];
  readonly dbSize?: number;
  readonly dead?: boolean;
}

let bin: string;
let path_: string | undefined;
beforeEach(() => {
  bin = path.join(temporaryFolder(), "bin");
  mkdirSync(bin);
  path_ = process.env["PATH"];
  process.env["PATH"] = `${bin}:${path_ ?? ""}`;
});
afterEach(() => {
  process.env["PATH"] = path_;
});

function script(name: string, body: string): void {
  const file = path.join(bin, name);
  writeFileSync(file, `#!/bin/sh\necho "$0 $*" >> ${bin}/log\n${body}\n`);
  chmodSync(file, 0o755);
}

const log = (): string => readFileSync(path.join(bin, "log"), "utf8");

/** One endpoint each, `https://m0:2379` and so on. */
function etcdctl(members: readonly Member[], save = 'printf snapshot > "$file"'): void {
  const status = members.map((member, index) => {
    const {
      revision = 100,
      cluster = "14841639068965178418",
      learner = false,
      errors = [],
      dbSize = 4096,
    } = member;
    const json = `[{"Endpoint":"https://m${index}:2379","Status":{"header":{"cluster_id":${cluster},"member_id":10276657743932975437,"revision":${revision},"raft_term":2},"version":"3.6.5","dbSize":${dbSize},"leader":10276657743932975437,"raftIndex":110${learner ? ',"isLearner":true' : ""}${errors.length > 0 ? `,"errors":${JSON.stringify(errors)}` : ""}}}]`;
    return `*//m${index}:2379*) ${member.dead === true ? "echo 'context deadline exceeded' >&2; exit 1" : `echo '${json}'`};;`;
  });
  script(
    "etcdctl",
    `case "$*" in
  *"snapshot save"*) for file; do :; done; ${save};;
  *) case "$1" in ${status.join("\n")} *) exit 9;; esac;;
esac`,
  );
}

/** The status of the saved file, and that of the restored copy. */
function etcdutl(
  saved: { hash?: number; revision?: number; totalKey?: number } = {},
  restored: { revision?: number; totalKey?: number } = {},
  restore = 'mkdir -p "$data/member/snap"; printf db > "$data/member/snap/db"',
): void {
  const json = (of: object): string =>
    JSON.stringify({ hash: 305419896, revision: 100, totalKey: 7, totalSize: 4096, ...of });
  script(
    "etcdutl",
    `case "$*" in
  *"snapshot restore"*) for data; do :; done; ${restore};;
  *"snap/db"*) echo '${json({ ...saved, ...restored })}';;
  *) echo '${json(saved)}';;
esac`,
  );
}

const endpoints = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `https://m${index}:2379`);

async function take(members = 1) {
  const context = testContext(untouchable, { document: { stage: "snapshot" } });
  const result = await snapshot.run(context, { etcd: { endpoints: endpoints(members) } }).then(
    (outcome) => ({ facts: outcome.facts?.["snapshot"] as SnapshotFacts, error: null }),
    (error: unknown) => ({ facts: null, error: error as Error }),
  );
  const folder = path.join(context.out, "snapshots");
  return { ...result, context, left: existsSync(folder) ? readdirSync(folder) : [] };
}

describe("a snapshot", () => {
  it("is saved, restored once for a trial, and kept for its owner only", async () => {
    etcdctl([{ revision: 100 }]);
    etcdutl();
    const { facts, left, context } = await take();
    expect(facts).toMatchObject({
      hash: "12345678",
      revision: 100,
      liveRevision: 100,
      totalKeys: 7,
      bytes: 8,
      clusterUid: "cluster-uid",
      etcdClusterId: "cdf818194e3a8c32",
      restored: true,
      sha256: await sha256OfFile(facts?.file ?? ""),
    });
    expect(left).toEqual([path.basename(facts?.file ?? "")]);
    expect(left[0]).toMatch(/^etcd-\d{8}T\d{6}Z-snapshot\.db$/);
    expect(statSync(facts?.file ?? "").mode & 0o777).toBe(0o600);
    expect(context.lines.join("\n")).toContain("restoring it into a scratch folder");
  });

  it("may hold more than there was when it was begun", async () => {
    etcdctl([{ revision: 100 }]);
    etcdutl({ revision: 105 });
    expect((await take()).facts).toMatchObject({ revision: 105, liveRevision: 100 });
  });

  it("is taken from the voter that is furthest, never from a learner or one with an alarm", async () => {
    etcdctl([
      { revision: 90 },
      { revision: 100 },
      { revision: 120, learner: true },
      { revision: 130, errors: ["alarm:CORRUPT"] },
    ]);
    etcdutl();
    expect((await take(4)).error).toBeNull();
    expect(log()).toMatch(/--endpoints=https:\/\/m1:2379 snapshot save/);
  });

  it("is taken although another member is dead", async () => {
    etcdctl([{ dead: true }, { revision: 100 }]);
    etcdutl();
    expect((await take(2)).facts).toMatchObject({ revision: 100 });
  });
});

describe("no snapshot is kept", () => {
  it.each<[string, () => void, number, RegExp]>([
    [
      "when no member answers",
      () => {
        etcdctl([{ dead: true }]);
        etcdutl();
      },
      1,
      /context deadline exceeded/,
    ],
    [
      "when there are only learners",
      () => {
        etcdctl([{ learner: true }]);
        etcdutl();
      },
      1,
      /no snapshot was taken/,
    ],
    [
      "when the endpoints belong to two clusters",
      () => {
        etcdctl([{}, { cluster: "11111111111111111111" }]);
        etcdutl();
      },
      2,
      /no snapshot was taken/,
    ],
    [
      "when saving fails",
      () => {
        etcdctl([{}], "echo 'no space left on device' >&2; exit 1");
        etcdutl();
      },
      1,
      /no space left/,
    ],
    [
      "when its hash does not fit",
      () => {
        etcdctl([{}]);
        etcdutl({}, {}, "echo 'expected sha256 [..], got [..]' >&2; exit 1");
      },
      1,
      /expected sha256/,
    ],
    [
      "when it is older than what was there before it",
      () => {
        etcdctl([{ revision: 100 }]);
        etcdutl({ revision: 99 });
      },
      1,
      /of revision 99, older than 100/,
    ],
    [
      "when restoring brings back less",
      () => {
        etcdctl([{}]);
        etcdutl({}, { totalKey: 6 });
      },
      1,
      /restored were 6 keys at revision 100, saved 7/,
    ],
    [
      "when the tool says nothing",
      () => {
        etcdctl([{}]);
        script("etcdutl", ":");
      },
      1,
      /./,
    ],
    [
      "when the disk is full",
      () => {
        etcdctl([{ dbSize: 9e14 }]);
        etcdutl();
      },
      1,
      /no snapshot was taken/,
    ],
  ])("%s", async (_, prepare, members, message) => {
    prepare();
    const { error, left } = await take(members);
    expect(error?.message).toMatch(message);
    expect(left).toEqual([]);
  });

  it("and nobody asks etcd for one where the disk is full", async () => {
    etcdctl([{ dbSize: 9e14 }]);
    etcdutl();
    const { error } = await take();
    expect((error as Refusal).findings[0]).toMatchObject({ code: "SNAPSHOT-DISK" });
    expect(log()).not.toContain("snapshot save");
  });
});

describe("what etcd says", () => {
  it("keeps ids of 64 bits whole", () => {
    const text = '{"a":18446744073709551615,"b": [9007199254740993], "c":"12345678901234567890","d":42}';
    expect(JSON.parse(quoteBigNumbers(text))).toEqual({
      a: "18446744073709551615",
      b: ["9007199254740993"],
      c: "12345678901234567890",
      d: 42,
    });
  });

  it("is read as etcd prints ids, small ones too", () => {
    const status = (id: string | number) => [
      {
        Endpoint: "x",
        Status: {
          header: { cluster_id: id, member_id: 255, revision: 1 },
          version: "3.6",
          dbSize: 1,
          leader: 255,
        },
      },
    ];
    expect(parseEndpointStatus(status("18446744073709551615"))[0]).toMatchObject({
      clusterId: "ffffffffffffffff",
      memberId: "ff",
      isLeader: true,
      isLearner: false,
      errors: [],
    });
    expect(() => parseEndpointStatus([{}])).toThrow();
  });

  it("is asked with the certificates of the config, never on a command line of a shell", async () => {
    etcdctl([{}]);
    const access = { endpoints: endpoints(1), cacert: "/pki/ca.crt", cert: "/pki/c.crt", key: "/pki/c.key" };
    await new EtcdTool(access, { signal: new AbortController().signal }).status();
    expect(log()).toContain(
      "--cacert=/pki/ca.crt --cert=/pki/c.crt --key=/pki/c.key endpoint status -w json",
    );
  });
});

describe("a snapshot that irreversible work relies on", () => {
  const spec = { maxAgeMinutes: 30, etcd: { endpoints: endpoints(1) } };

  async function taken() {
    etcdctl([{}]);
    etcdutl();
    const { facts } = await take();
    if (facts === null) throw new Error("none was taken");
    return facts;
  }

  const demand = (snapshotFacts: unknown, clusterUid = "cluster-uid") => {
    const context = testContext(untouchable, {
      input: snapshotFacts === null ? null : { facts: { snapshot: snapshotFacts } },
      document: { bound: { clusterUid, nodes: {} } },
    });
    return new FreshSnapshot(context, spec).demand();
  };

  it("is there, whole, fresh and of this cluster", async () => {
    await demand(await taken());
  });

  it.each([
    ["there is none", () => null],
    ["what was handed over is none", () => ({ file: "x" })],
    ["it was never restored", (facts: SnapshotFacts) => ({ ...facts, restored: false })],
  ])("stops the work when %s", async (_, of) => {
    await expect(demand(of(await taken()))).rejects.toBeInstanceOf(Refusal);
  });

  it("stops the work when its file was changed since", async () => {
    const facts = await taken();
    writeFileSync(facts.file, "snapshoT");
    const error: unknown = await demand(facts).catch((reason: unknown) => reason);
    expect((error as Refusal).findings.map((one) => one.code)).toContain("SNAPSHOT-HASH");
  });

  it("stops the work when it is of another cluster", async () => {
    const error: unknown = await demand(await taken(), "another").catch((reason: unknown) => reason);
    expect((error as Refusal).findings.map((one) => one.code)).toContain("SNAPSHOT-CLUSTER");
  });

  it("stops the work when it is from the future", async () => {
    const facts = { ...(await taken()), takenAt: new Date(Date.now() + 3_600_000).toISOString() };
    await expect(demand(facts)).rejects.toBeInstanceOf(Refusal);
  });

  it("is taken anew when it is too old", async () => {
    const facts = { ...(await taken()), takenAt: new Date(Date.now() - 3_600_000).toISOString() };
    const saves = () => log().split("snapshot save").length - 1;
    const before = saves();
    await demand(facts);
    expect(saves()).toBe(before + 1);
  });
});
