import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layoutOf, type Layout } from "../../lab/cluster/layout.ts";
import { kwokConfig } from "../../lab/cluster/stages.ts";
import { parseLabConfig } from "../../lab/cluster/config.ts";
import { faultFor } from "../../lab/machine/faults.ts";
import { versionPolicy } from "../../lab/machine/policy.ts";
import { parseCommands } from "../../lab/machine/shell.ts";
import { compare } from "../../lab/machine/versions.ts";

describe("the machine's shell", () => {
  const cases: [string[], string[][]][] = [
    [["kubelet", "--version"], [["kubelet", "--version"]]],
    [
      ["sudo", "apt-get", "install", "-y", "kubeadm=1.35.4-*"],
      [["apt-get", "install", "-y", "kubeadm=1.35.4-*"]],
    ],
    [
      ["apt-mark unhold kubeadm && apt-get update"],
      [
        ["apt-mark", "unhold", "kubeadm"],
        ["apt-get", "update"],
      ],
    ],
    [["a 'b c' \"d e\"f"], [["a", "b c", "d ef"]]],
    [["a&&b"], [["a"], ["b"]]],
  ];
  it.each(cases)("reads %j", (args, commands) => {
    expect(parseCommands(args)).toEqual(commands);
  });

  it.each(["a; b", "a | b", "a > b", "a $B", "a `b`", "a & b", "'open", "a &&", "&& a", "sudo"])(
    "refuses %j instead of guessing",
    (line) => {
      expect(() => parseCommands([line])).toThrow(/^sh: 1: /u);
    },
  );

  it("gives back any words that were quoted", () => {
    const word = fc.string({
      unit: fc.constantFrom("a", "b", "-", "=", "*", ".", "1", " ", "\t", ";", "|", "&", "$", '"'),
    });
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        expect(parseCommands(["x", ...words.map((each) => `'${each}'`)])).toEqual([["x", ...words]]);
      }),
    );
  });
});

describe("kubeadm's version policy", () => {
  const versions = { target: "v1.35.4", cluster: "v1.34.4", kubeadm: "v1.35.4", kubelets: ["v1.34.4"] };
  it("lets one minor through, and a patch, and kubelets three minors old", () => {
    expect(versionPolicy(versions)).toEqual({ fatal: [], skippable: [] });
    expect(versionPolicy({ ...versions, cluster: "v1.35.0" })).toEqual({ fatal: [], skippable: [] });
    expect(versionPolicy({ ...versions, kubelets: ["v1.32.9"] })).toEqual({ fatal: [], skippable: [] });
  });

  const refused: [string, Partial<typeof versions>, "fatal" | "skippable", RegExp][] = [
    ["two minors", { cluster: "v1.33.9" }, "fatal", /only 1 minor version at a time/u],
    [
      "an older kubeadm",
      { kubeadm: "v1.34.4" },
      "fatal",
      /higher than the kubeadm minor release \(35 > 34\)/u,
    ],
    ["a kubeadm of an older patch", { kubeadm: "v1.35.3" }, "skippable", /Upgrade kubeadm first/u],
    [
      "a newer kubeadm",
      { target: "v1.34.5" },
      "skippable",
      /can only be used to upgrade to Kubernetes version 1\.35/u,
    ],
    ["a minor down", { target: "v1.34.4", cluster: "v1.35.4" }, "fatal", /cannot go back/u],
    [
      "kubelets four minors old",
      { kubelets: ["v1.31.0", "v1.34.4"] },
      "skippable",
      /too old.*\[v1\.31\.0\]/u,
    ],
  ];
  it.each(refused)("refuses %s", (_, change, kind, message) => {
    expect(versionPolicy({ ...versions, ...change })[kind].join("\n")).toMatch(message);
  });

  it("compares numbers, not text", () => {
    expect(compare("v1.9.0", "v1.10.0")).toBeLessThan(0);
    expect(compare("v1.34.10", "v1.34.9")).toBeGreaterThan(0);
    expect(compare("v1.34.4", "1.34.4-1.1")).toBe(0);
  });
});

describe("faults", () => {
  let layout: Layout;
  beforeAll(async () => {
    layout = layoutOf(await mkdtemp(join(tmpdir(), "lab-faults-")));
  });
  afterAll(() => rm(layout.dir, { recursive: true, force: true }));
  const write = (faults: unknown): Promise<void> => writeFile(layout.faults, JSON.stringify(faults));

  it("strike the node and command they name, as often as they say, also when asked all at once", async () => {
    await write([{ node: "n1", command: "restart kubelet$", action: "kubelet-down", times: 2 }]);
    expect(await faultFor(layout, "n2", "systemctl restart kubelet")).toBeUndefined();
    expect(await faultFor(layout, "n1", "systemctl is-active kubelet")).toBeUndefined();
    const struck = await Promise.all(
      Array.from({ length: 5 }, () => faultFor(layout, "n1", "systemctl restart kubelet")),
    );
    expect(struck.filter(Boolean)).toHaveLength(2);
  });

  it("that are written wrongly are told, not ignored", async () => {
    await write([{ node: "*", command: "(", action: "explode" }]);
    await expect(faultFor(layout, "n1", "x")).rejects.toThrow(
      /\[0\]\.command[^]*regular expression[^]*\[0\]\.action/u,
    );
  });
});

describe("kwok's stages", () => {
  it("carry the configuration's times", async () => {
    const config = parseLabConfig({ podReadySeconds: [5, 7], kubeletStartSeconds: [0.25, 3] });
    const text = await kwokConfig(config);
    expect(text).toContain("// 5)");
    expect(text).toContain("// 7)");
    expect(text).toMatch(/durationMilliseconds: 250\n\s+jitterDurationMilliseconds: 3000/u);
    expect(text).not.toMatch(/delay: \{\}/u);
  });
});
