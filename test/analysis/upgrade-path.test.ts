import { describe, expect, test } from "vitest";
import { blocks } from "../../analysis/finding.ts";
import { type UpgradePath, checkUpgradePath, upgradeSteps } from "../../analysis/upgrade-path.ts";

const check = (path: UpgradePath) => checkUpgradePath(path);
const codes = (path: UpgradePath): string[] => check(path).map(({ code }) => code);

describe("VER-01 one minor at a time", () => {
  test.each<[UpgradePath, string[]]>([
    [{ current: "v1.13.5", target: "v1.15.0" }, ["UPGRADE-SKIPS-MINOR"]],
    [{ current: "v1.9.6", target: "v1.10.0", kubeadm: "v1.9.6" }, ["UPGRADE-KUBEADM"]],
    [{ current: "v1.9.6", target: "v1.10.0", kubeadm: "v1.10.0" }, []],
    [{ current: "v1.28.9", target: "v1.28.3" }, ["UPGRADE-DOWNGRADE"]],
    [{ current: "v1.28.3", target: "v1.28.9" }, []],
    // further members of the kind
    [{ current: "v1.28.3", target: "v1.27.9" }, ["UPGRADE-DOWNGRADE"]],
    [{ current: "v1.30.0", target: "v1.30.0-rc.1" }, ["UPGRADE-DOWNGRADE", "UPGRADE-PRE-RELEASE"]],
    [{ current: "v1.30.0-rc.1", target: "v1.30.0" }, []],
    [{ current: "v1.28.3", target: "v1.28.3" }, []],
    [{ current: "v1.28.3", target: "1.28" }, []],
    [{ current: "v1.28.3", target: "1.29" }, []],
    [{ current: "v1.28.3-eks-036c24b", target: "v1.29.0-eks-7e0a1b2" }, []],
    [{ current: "v1.34.4+k3s1", target: "v1.34.4" }, []],
    [{ current: "v1.99.0", target: "v1.100.0" }, []],
    [{ current: "v1.34.4", target: "v2.0.0" }, ["UPGRADE-MAJOR"]],
    [{ current: "v1.29.4", target: "v1.30.0-rc.1" }, ["UPGRADE-PRE-RELEASE"]],
    [{ current: "v1.29.4", target: "v1.30.2", kubeadm: "v1.30.1" }, ["UPGRADE-KUBEADM"]],
    [{ current: "v1.29.4", target: "v1.30.2", kubeadm: "v1.30.5" }, []],
    [{ current: "v1.29.4", target: "v1.30.2", kubeadm: "v1.31.0" }, ["UPGRADE-KUBEADM"]],
    [{ current: "v1.29.4", target: "1.30", kubeadm: "v1.30.0" }, []],
    [{ current: ["v1.33.2", "v1.34.0", "v1.34.0"], target: "v1.34.0" }, []],
    [{ current: ["v1.33.2", "v1.34.0"], target: "v1.35.0" }, ["UPGRADE-SKIPS-MINOR"]],
    [{ current: ["v1.33.2", "v1.34.0"], target: "v1.33.9" }, ["UPGRADE-DOWNGRADE"]],
    [{ current: ["v1.34.2", "v1.34.4"], target: "v1.34.3" }, ["UPGRADE-DOWNGRADE"]],
    [{ current: [], target: "v1.34.3" }, ["VERSION-UNREADABLE"]],
    [{ current: "v1.34.2", target: "newest" }, ["VERSION-UNREADABLE"]],
    [{ current: "?", target: "!" }, ["VERSION-UNREADABLE", "VERSION-UNREADABLE"]],
  ])("%j: %j", (path, expected) => {
    expect(codes(path)).toEqual(expected);
  });

  test("a skipped minor is answered with the steps to take", () => {
    expect(upgradeSteps("v1.13.5", "v1.15.0")).toEqual(["v1.14.x", "v1.15.0"]);
    expect(upgradeSteps("v1.9.6", "1.12.1")).toEqual(["v1.10.x", "v1.11.x", "v1.12.1"]);
    expect(upgradeSteps("v1.28.3", "v1.28.9")).toEqual(["v1.28.9"]);
    expect(upgradeSteps("v1.28.3", "v1.28.3")).toEqual([]);
    expect(upgradeSteps("v1.28.3", "v1.27.0")).toEqual([]);
    expect(upgradeSteps("v1.28.3", "v2.0.0")).toEqual([]);
    expect(check({ current: "v1.13.5", target: "v1.15.0" })[0]?.repair).toContain("v1.14.x, then v1.15.0");
  });

  test("an old kubeadm is answered with: upgrade kubeadm first", () => {
    expect(check({ current: "v1.9.6", target: "v1.10.0", kubeadm: "v1.9.6" })[0]?.repair).toContain(
      "upgrade kubeadm first",
    );
  });

  test("a downgrade is answered with the snapshot as the only way back", () => {
    expect(check({ current: "v1.28.9", target: "v1.28.3" })[0]?.repair).toContain("restore an etcd snapshot");
  });

  test("a pre-release as target is a warning, and no block", () => {
    const findings = check({ current: "v1.29.4", target: "v1.30.0-beta.0" });
    expect(findings.map(({ severity }) => severity)).toEqual(["warn"]);
  });

  test("a mixed control plane is told to finish its newest minor first", () => {
    expect(check({ current: ["v1.33.2", "v1.34.0"], target: "v1.35.0" })[0]?.repair).toContain(
      "finish the upgrade of every API server to 1.34 first",
    );
  });
});

describe("kubelets beside a moving control plane", () => {
  const kubelets = [
    { name: "old", version: "v1.31.2" },
    { name: "fine", version: "v1.33.0" },
  ];

  test("a kubelet that would fall out of the window is named before the control plane moves", () => {
    const findings = check({ current: "v1.34.1", target: "v1.35.0", kubelets });
    expect(findings.map(({ code, subject }) => [code, subject])).toEqual([
      ["UPGRADE-LEAVES-KUBELET", "kubelet old"],
    ]);
    expect(findings[0]?.message).toContain("once the control plane is at 1.35");
    expect(findings[0]?.repair).toContain("1.32 or newer first, before the control plane moves to 1.35");
  });

  test("the same kubelets are fine for a newer patch of the same minor", () => {
    expect(codes({ current: "v1.34.1", target: "v1.34.5", kubelets })).toEqual([]);
  });

  test("a kubelet ahead of the control plane is refused (VER-03), even if the target would catch up with it", () => {
    const ahead = [{ name: "ahead", version: "v1.35.0" }];
    expect(codes({ current: "v1.34.1", target: "v1.35.0", kubelets: ahead })).toEqual(["SKEW-TOO-NEW"]);
  });

  test("a kubelet that is outside already is reported once", () => {
    expect(
      codes({ current: "v1.34.1", target: "v1.35.0", kubelets: [{ name: "n", version: "v1.29.0" }] }),
    ).toEqual(["SKEW-TOO-OLD"]);
  });
});

describe("TAL-04 talosctl and slips in the target", () => {
  test.each<[UpgradePath, string, string]>([
    [{ current: "1.29.5", target: "1.3.1" }, "UPGRADE-DOWNGRADE", "did you mean 1.30.1?"],
    [{ current: "1.29.5", target: "1.3" }, "UPGRADE-DOWNGRADE", "did you mean 1.30?"],
    [{ current: "1.29.5", target: "1.300.1" }, "UPGRADE-SKIPS-MINOR", "did you mean 1.30.1?"],
    [
      { current: "1.25.8", target: "1.26.0", talosctl: "1.2.6", talosNodes: ["1.3.7"] },
      "UPGRADE-TALOSCTL",
      "install talosctl 1.3.7; the Kubernetes target is not the cause",
    ],
  ])("%j is refused with the right hint", (path, code, hint) => {
    const findings = check(path).filter(blocks);
    expect(findings.map((finding) => finding.code)).toEqual([code]);
    expect(findings[0]?.repair).toContain(hint);
  });

  test("an old talosctl is what the message blames", () => {
    const found = check({
      current: "1.25.8",
      target: "1.26.0",
      talosctl: "v1.2.6",
      talosNodes: ["v1.3.5", "v1.3.7"],
    });
    expect(found.map(({ subject, message }) => `${subject}: ${message}`)).toEqual([
      "talosctl: talosctl is older than the nodes: v1.2.6 against Talos v1.3.7",
    ]);
  });

  test("talosctl of the nodes' version passes, another patch or a newer one is a warning", () => {
    const at = (talosctl: string) =>
      check({ current: "1.25.8", target: "1.26.0", talosctl, talosNodes: ["1.3.7"] }).map(
        ({ severity }) => severity,
      );
    expect(at("1.3.7")).toEqual([]);
    expect(at("1.3.6")).toEqual(["warn"]);
    expect(at("1.4.0")).toEqual(["warn"]);
  });
});
