import { describe, expect, test } from "vitest";
import { removedLabelFindings } from "../../analysis/removed-labels.ts";

const MASTER = "node-role.kubernetes.io/master";
const SUCCESSOR = "node-role.kubernetes.io/control-plane";
const upgrade = { from: "v1.23.17", to: "v1.24.12" };
const check = (object: unknown, step = upgrade): string[] =>
  removedLabelFindings(step, [object]).map(({ severity, subject }) => `${severity} ${subject}`);
const template = (spec: unknown): unknown => ({
  kind: "Deployment",
  metadata: { name: "cert-tool", namespace: "ops", annotations: { note: `${MASTER} here says nothing` } },
  spec: { template: { metadata: { labels: { app: "cert-tool" } }, spec } },
});
const affinity = (kind: string, terms: unknown): unknown =>
  template({ affinity: { nodeAffinity: { [kind]: terms } } });
const by = (key: string, operator = "Exists"): unknown => ({ matchExpressions: [{ key, operator }] });

describe("VER-06 a label that the upgrade takes away", () => {
  test.each<[string, unknown, string[]]>([
    [
      "a custom resource's selector",
      { kind: "BGPPeer", name: "rr", peerSelector: `has(${MASTER})` },
      ["refuse BGPPeer rr"],
    ],
    [
      "the same deeper down",
      { kind: "BGPPeer", metadata: { name: "rr" }, spec: { nodeSelector: `${MASTER} == ''` } },
      ["refuse BGPPeer rr"],
    ],
    [
      "a nodeSelector",
      { kind: "Deployment", name: "cert-tool", nodeSelector: { [MASTER]: "" } },
      ["refuse Deployment cert-tool"],
    ],
    [
      "a nodeSelector in a template",
      template({ nodeSelector: { [MASTER]: "" } }),
      ["refuse Deployment ops/cert-tool"],
    ],
    [
      "a required affinity",
      affinity("requiredDuringSchedulingIgnoredDuringExecution", { nodeSelectorTerms: [by(MASTER)] }),
      ["refuse Deployment ops/cert-tool"],
    ],
    [
      "an affinity that keeps away from it",
      affinity("requiredDuringSchedulingIgnoredDuringExecution", {
        nodeSelectorTerms: [by(MASTER, "DoesNotExist")],
      }),
      ["refuse Deployment ops/cert-tool"],
    ],
    [
      "a preference",
      affinity("preferredDuringSchedulingIgnoredDuringExecution", [{ weight: 1, preference: by(MASTER) }]),
      ["warn Deployment ops/cert-tool"],
    ],
    [
      "a toleration",
      { kind: "DaemonSet", name: "agent", tolerations: [{ key: MASTER, operator: "Exists" }] },
      ["warn DaemonSet agent"],
    ],
    [
      "a toleration in a template",
      template({ tolerations: [{ key: MASTER, operator: "Exists" }] }),
      ["warn Deployment ops/cert-tool"],
    ],
    // and what must not be reported
    ["a selector by the successor", template({ nodeSelector: { [SUCCESSOR]: "" } }), []],
    [
      "a selector by either",
      { kind: "BGPPeer", name: "rr", peerSelector: `has(${MASTER}) || has(${SUCCESSOR})` },
      [],
    ],
    [
      "an affinity to either",
      affinity("requiredDuringSchedulingIgnoredDuringExecution", {
        nodeSelectorTerms: [by(MASTER), by(SUCCESSOR)],
      }),
      [],
    ],
    ["tolerations of both", template({ tolerations: [{ key: MASTER }, { key: SUCCESSOR }] }), []],
    ["a toleration of everything", template({ tolerations: [{ key: MASTER }, { operator: "Exists" }] }), []],
    ["a label of another owner", template({ nodeSelector: { "example.com/master": "" } }), []],
    ["a longer label", { kind: "X", name: "x", selector: `has(${MASTER}-pool)` }, []],
    ["an annotation", template({}), []],
    [
      "a status",
      { kind: "Node", metadata: { name: "n", labels: { [MASTER]: "" } }, status: { text: MASTER } },
      [],
    ],
    ["no object", null, []],
  ])("%s", (_name, object, expected) => {
    expect(check(object)).toEqual(expected);
  });

  test.each<[string, string, number]>([
    ["v1.23.17", "v1.24.0", 1],
    ["v1.22.4-eks-1", "v1.23.9", 0],
    ["v1.24.3", "v1.25.0", 0],
    ["v1.33.1", "v1.34.0", 0],
  ])("a selector is judged by the step: %s to %s", (from, to, found) => {
    expect(check(template({ nodeSelector: { [MASTER]: "" } }), { from, to })).toHaveLength(found);
  });

  test("the taint goes one minor after the label", () => {
    const agent = template({ tolerations: [{ key: MASTER, operator: "Exists" }] });
    expect(check(agent, { from: "v1.24.12", to: "v1.25.3" })).toEqual(["warn Deployment ops/cert-tool"]);
    expect(check(agent, { from: "v1.25.3", to: "v1.26.0" })).toEqual([]);
  });

  test("the finding names the place and the label to select by", () => {
    const [found] = removedLabelFindings(upgrade, [template({ nodeSelector: { [MASTER]: "" } })]);
    expect(found?.message).toContain("spec.template.spec.nodeSelector goes by the node label");
    expect(found?.repair).toContain(SUCCESSOR);
  });
});
