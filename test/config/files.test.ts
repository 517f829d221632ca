import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { UpgradeConfig } from "../../config/upgrade.ts";
import { etcdFileFindings, outFindings } from "../../config/files.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "out-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe("the folder of artefacts", () => {
  it("may be there, or be made later, however deep", () => {
    expect(outFindings(folder)).toEqual([]);
    expect(outFindings(path.join(folder, "a", "b", "c"))).toEqual([]);
  });

  it("is made by nobody who only looks", () => {
    outFindings(path.join(folder, "a"));
    expect(() => {
      mkdirSync(path.join(folder, "a"));
    }).not.toThrow();
  });

  it.each([
    ["a file", (file: string) => file],
    ["below a file", (file: string) => path.join(file, "out")],
    ["far below a file", (file: string) => path.join(file, "a", "b")],
  ])("is not %s", (_, of) => {
    const file = path.join(folder, "file");
    writeFileSync(file, "");
    const [finding] = outFindings(of(file));
    expect(finding).toMatchObject({
      code: "OUT-NOT-WRITABLE",
      severity: "refuse",
      subject: "cluster-migration:out",
    });
    expect(finding?.message).toContain("is not a folder");
    expect(finding?.message).toContain(of(file));
  });
});

describe("the files that etcdctl authenticates with", () => {
  it("are there, or are told one by one", () => {
    const etcd = {
      endpoints: ["https://127.0.0.1:2379"],
      cacert: "package.json",
      cert: "no/cert",
      key: "no/key",
    };
    const config = { etcd: { ...etcd, maxSnapshotAgeMinutes: 30 } } as UpgradeConfig;
    const half = {
      etcd: { endpoints: etcd.endpoints, cacert: "package.json", cert: "package.json" },
    } as unknown as UpgradeConfig;
    expect(etcdFileFindings(half)).toEqual([
      expect.objectContaining({ subject: "cluster-migration:upgrade.etcd.key" }),
    ]);
    expect(
      etcdFileFindings(config).map(({ code, subject, message }) => `${code} ${subject} ${message}`),
    ).toEqual([
      "ETCD-FILE cluster-migration:upgrade.etcd.cert there is no file 'no/cert'",
      "ETCD-FILE cluster-migration:upgrade.etcd.key there is no file 'no/key'",
    ]);
  });
});
