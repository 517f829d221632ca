import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Components,
  type Range,
  SKEW_ANSWER_KEYS,
  checkComponents,
  checkNodePools,
  inRange,
  skewAnswers,
  skewWindow,
} from "../../analysis/skew.ts";
import { compareMinors, formatMinor, minorOf } from "../../analysis/versions.ts";

const minors = (...texts: string[]) => texts.map((text) => minorOf(text));
const show = ({ min, max }: Range): string => `${formatMinor(min)}..${formatMinor(max)}`;
const codes = (components: Components): string[] =>
  checkComponents(components).map(({ code, subject }) => `${code} ${subject}`);
const servers = (...versions: string[]) =>
  versions.map((version, index) => ({ name: `cp-${index}`, version }));

describe("windows", () => {
  test.each([
    [["1.34"], "1.31..1.34", "1.33..1.35", "1.33..1.34"],
    [["1.34", "1.33"], "1.31..1.33", "1.33..1.34", "1.33..1.33"],
    [["1.33", "1.34", "1.34"], "1.31..1.33", "1.33..1.34", "1.33..1.33"],
    [["1.28"], "1.25..1.28", "1.27..1.29", "1.27..1.28"],
    [["1.27"], "1.25..1.27", "1.26..1.28", "1.26..1.27"],
    [["1.26"], "1.24..1.26", "1.25..1.27", "1.25..1.26"],
    [["1.27", "1.26"], "1.25..1.26", "1.26..1.27", "1.26..1.26"],
    [["1.10"], "1.8..1.10", "1.9..1.11", "1.9..1.10"],
  ])("API servers %j", (apiservers, kubelet, kubectl, controllerManager) => {
    const window = skewWindow(minors(...apiservers));
    expect(show(window.kubelet)).toBe(kubelet);
    expect(show(window.kubeProxy)).toBe(kubelet);
    expect(show(window.kubectl)).toBe(kubectl);
    expect(show(window.controllerManager)).toBe(controllerManager);
  });

  test("no API server, no window", () => {
    expect(() => skewWindow([])).toThrow(RangeError);
  });

  const minor = fc.integer({ min: 4, max: 90 }).map((value) => ({ major: 1, minor: value }));

  test("a window holds its own ends, and the API server's own minor where all are equal", () => {
    fc.assert(
      fc.property(minor, (apiserver) => {
        const window = skewWindow([apiserver]);
        for (const range of [window.kubelet, window.kubectl, window.controllerManager]) {
          expect(inRange(range.min, range)).toBe(true);
          expect(inRange(range.max, range)).toBe(true);
          expect(inRange(apiserver, range)).toBe(true);
        }
      }),
    );
  });

  test("a second API server of another minor only narrows, and exactly to what both support", () => {
    fc.assert(
      fc.property(minor, fc.constantFrom(-1, 0, 1), fc.nat(95), (one, step, probe) => {
        const other = { major: 1, minor: one.minor + step };
        const version = { major: 1, minor: probe };
        const [mixed, alone, beside] = [skewWindow([one, other]), skewWindow([one]), skewWindow([other])];
        for (const part of ["kubelet", "kubectl", "controllerManager"] as const) {
          expect(inRange(version, mixed[part])).toBe(
            inRange(version, alone[part]) && inRange(version, beside[part]),
          );
        }
      }),
    );
  });
});

describe("answers", () => {
  test("for 1.34, the exercise's example", () => {
    expect(skewAnswers(minors("1.34"))).toEqual({
      min_kubelet: "1.31",
      max_kubelet: "1.34",
      max_kubectl: "1.35",
      min_kubectl: "1.33",
      max_controller_manager: "1.34",
      next_upgrade_target: "1.35",
      downgrade_supported: "no",
    });
  });

  test("half-way from 1.33 to 1.34 the windows narrow and the newest minor is finished first", () => {
    expect(skewAnswers(minors("1.34", "1.33"))).toEqual({
      min_kubelet: "1.31",
      max_kubelet: "1.33",
      max_kubectl: "1.34",
      min_kubectl: "1.33",
      max_controller_manager: "1.33",
      next_upgrade_target: "1.34",
      downgrade_supported: "no",
    });
  });

  test("1.9 is followed by 1.10", () => {
    expect(skewAnswers(minors("1.9"))).toMatchObject({ next_upgrade_target: "1.10", max_kubectl: "1.10" });
  });

  test("API servers two minors apart have no answers", () => {
    expect(() => skewAnswers(minors("1.34", "1.32"))).toThrow("more than one minor apart");
  });

  test("the keys are the exercise's", () => {
    expect(Object.keys(skewAnswers(minors("1.30"))).sort()).toEqual([...SKEW_ANSWER_KEYS].sort());
  });
});

describe("components", () => {
  test("everything at one version passes, vendor marks or not", () => {
    expect(
      checkComponents({
        apiservers: servers("v1.29.4-eks-036c24b"),
        kubelets: [{ name: "a", version: "v1.29.9-eks-1" }],
        kubeProxies: [{ name: "a", version: "v1.29.0" }],
        controllerManagers: servers("v1.29.4+k3s1"),
        schedulers: servers("v1.28.0"),
        kubectl: "v1.30.1",
      }),
    ).toEqual([]);
  });

  test.each<[string, Components, string[]]>([
    [
      "kubelet four older",
      { apiservers: servers("1.34.0"), kubelets: [{ name: "n", version: "v1.30.9" }] },
      ["SKEW-TOO-OLD kubelet n"],
    ],
    [
      "kubelet newer",
      { apiservers: servers("1.34.0"), kubelets: [{ name: "n", version: "v1.35.0" }] },
      ["SKEW-TOO-NEW kubelet n"],
    ],
    [
      "kubelet newer than the oldest of two API servers",
      { apiservers: servers("1.34.0", "1.33.4"), kubelets: [{ name: "n", version: "v1.34.0" }] },
      ["SKEW-TOO-NEW kubelet n"],
    ],
    [
      "kubelet three older but before 1.25",
      { apiservers: servers("1.27.0"), kubelets: [{ name: "n", version: "1.24.1" }] },
      ["SKEW-TOO-OLD kubelet n"],
    ],
    [
      "controller-manager two older",
      { apiservers: servers("1.34.0"), controllerManagers: servers("1.32.0") },
      ["SKEW-TOO-OLD kube-controller-manager cp-0"],
    ],
    [
      "scheduler newer",
      { apiservers: servers("1.34.0"), schedulers: servers("1.35.0") },
      ["SKEW-TOO-NEW kube-scheduler cp-0"],
    ],
    [
      "kubectl two newer",
      { apiservers: servers("1.34.0"), kubectl: "v1.36.0" },
      ["SKEW-TOO-NEW kubectl on this machine"],
    ],
    [
      "kubectl two older",
      { apiservers: servers("1.34.0"), kubectl: "v1.32.0" },
      ["SKEW-TOO-OLD kubectl on this machine"],
    ],
    [
      "kubectl one newer than the newest of two API servers",
      { apiservers: servers("1.34.0", "1.33.0"), kubectl: "v1.35.0" },
      ["SKEW-TOO-NEW kubectl on this machine"],
    ],
    [
      "API servers two apart",
      { apiservers: servers("1.34.0", "1.32.0") },
      ["SKEW-APISERVERS kube-apiserver"],
    ],
    [
      "kube-proxy before 1.25 three from its kubelet",
      {
        apiservers: servers("1.26.0"),
        kubelets: [{ name: "n", version: "1.26.0" }],
        kubeProxies: [{ name: "n", version: "1.23.0" }],
      },
      ["SKEW-TOO-OLD kube-proxy n", "SKEW-PROXY-KUBELET kube-proxy n"],
    ],
    [
      "unreadable kubelet",
      { apiservers: servers("1.34.0"), kubelets: [{ name: "n", version: "unknown" }] },
      ["VERSION-UNREADABLE kubelet n"],
    ],
    ["no API server", { apiservers: [] }, ["VERSION-UNREADABLE kube-apiserver"]],
  ])("%s", (_name, components, expected) => {
    expect(codes(components)).toEqual(expected);
    expect(checkComponents(components).every(({ severity }) => severity === "refuse")).toBe(true);
  });

  test("VER-03 a pool whose image is ahead of the control plane is refused, older ones and newer patches pass", () => {
    const pools = [
      { name: "workers-mig", version: "v1.30.2" },
      { name: "workers", version: "v1.28.11" },
      { name: "patched", version: "v1.29.9" },
    ];
    const findings = checkNodePools(["v1.29.6"], pools);
    expect(findings.map(({ subject }) => subject)).toEqual(["kubelet pool workers-mig"]);
    expect(findings[0]?.message).toContain("v1.30.2 is too new");
    expect(findings[0]?.repair).toContain("upgrade the control plane first");
  });

  test("a finding's repair, once followed, removes the finding", () => {
    fc.assert(
      fc.property(fc.integer({ min: 20, max: 60 }), fc.integer({ min: 15, max: 65 }), (server, kubelet) => {
        const apiservers = servers(`v1.${server}.3`);
        const window = skewWindow([{ major: 1, minor: server }]).kubelet;
        const found = checkComponents({ apiservers, kubelets: [{ name: "n", version: `v1.${kubelet}.1` }] });
        const mine = { major: 1, minor: kubelet };
        expect(found.length === 0).toBe(
          compareMinors(mine, window.min) >= 0 && compareMinors(mine, window.max) <= 0,
        );
      }),
    );
  });
});
