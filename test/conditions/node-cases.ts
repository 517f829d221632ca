/** Conditions on nodes and versions. */
import { node, pod } from "../analysis/facts.ts";
import { world, type Case } from "./case.ts";

const LABEL = "upgrade.labhub.io/stage";

/** The static pod of an API server, as kubeadm makes it. */
const apiserver = (on: string, tag: string) =>
  pod(`kube-apiserver-${on}`, {
    namespace: "kube-system",
    nodeName: on,
    mirror: true,
    images: [`registry.k8s.io/kube-apiserver:${tag}`],
  });

export const nodeCases: readonly Case[] = [
  // nodes
  {
    says: "nodes-exist: all there",
    demand: { condition: "nodes-exist", with: { nodes: [{ name: "old-1", path: "p" }] } },
    world: world(),
    finds: [],
  },
  {
    says: "nodes-exist: one is not",
    demand: { condition: "nodes-exist", with: { nodes: [{ name: "odl-1", path: "upgrade.drill.node" }] } },
    world: world(),
    finds: ["refuse NODE-UNKNOWN"],
    names: "odl-1",
  },
  { says: "nodes-ready: all", demand: { condition: "nodes-ready", with: {} }, world: world(), finds: [] },
  {
    says: "nodes-ready: two are not",
    demand: { condition: "nodes-ready", with: {} },
    world: world({ nodes: [node("a"), node("b", { ready: false }), node("c", { ready: false })] }),
    finds: ["hold NODE-NOT-READY", "hold NODE-NOT-READY"],
  },
  {
    says: "only-cordoned: nobody, nobody allowed",
    demand: { condition: "only-cordoned", with: { allowed: [] } },
    world: world(),
    finds: [],
  },
  {
    says: "only-cordoned: the one that may be, and it need not",
    demand: { condition: "only-cordoned", with: { allowed: ["a", "b"] } },
    world: world({ nodes: [node("a", { unschedulable: true }), node("b")] }),
    finds: [],
  },
  {
    says: "only-cordoned: another one",
    demand: { condition: "only-cordoned", with: { allowed: ["a"] } },
    world: world({ nodes: [node("a"), node("b", { unschedulable: true })] }),
    finds: ["hold NODE-CORDONED"],
  },
  {
    says: "cordoned: it is",
    demand: { condition: "cordoned", with: { nodes: ["a"] } },
    world: world({ nodes: [node("a", { unschedulable: true }), node("b")] }),
    finds: [],
  },
  {
    says: "cordoned: it is not",
    demand: { condition: "cordoned", with: { nodes: ["a"] } },
    world: world({ nodes: [node("a")] }),
    finds: ["hold NODE-SCHEDULABLE"],
  },
  {
    says: "cordoned: a node that is gone is not cordoned",
    demand: { condition: "cordoned", with: { nodes: ["gone"] } },
    world: world(),
    finds: ["hold NODE-ABSENT"],
  },
  {
    says: "kubelet-version: equal, with and without v",
    demand: { condition: "kubelet-version", with: { nodes: ["a"], version: "1.35.4" } },
    world: world({ nodes: [node("a", { kubeletVersion: "v1.35.4" }), node("b")] }),
    finds: [],
  },
  {
    says: "kubelet-version: another patch",
    demand: { condition: "kubelet-version", with: { nodes: ["a"], version: "v1.35.4" } },
    world: world({ nodes: [node("a", { kubeletVersion: "v1.35.3" })] }),
    finds: ["hold NODE-VERSION"],
    names: "v1.35.3",
  },
  {
    says: "kubelet-version: a node that is gone reports none",
    demand: { condition: "kubelet-version", with: { nodes: ["gone"], version: "v1.35.4" } },
    world: world(),
    finds: ["hold NODE-ABSENT"],
  },
  {
    says: "nodes-labelled: they are",
    demand: { condition: "nodes-labelled", with: { key: LABEL, values: { a: "canary" } } },
    world: world({ nodes: [node("a", { labels: { [LABEL]: "canary" } }), node("b")] }),
    finds: [],
  },
  {
    says: "nodes-labelled: another value, no label, no node",
    demand: { condition: "nodes-labelled", with: { key: LABEL, values: { a: "canary", b: "x", c: "x" } } },
    world: world({ nodes: [node("a", { labels: { [LABEL]: "batch1" } }), node("b")] }),
    finds: ["hold NODE-LABEL", "hold NODE-LABEL", "hold NODE-ABSENT"],
    names: "batch1",
  },
  // versions
  {
    says: "upgrade-path: one minor",
    demand: { condition: "upgrade-path", with: { target: "v1.35.4" } },
    world: world(),
    finds: [],
  },
  {
    says: "upgrade-path: two minors",
    demand: { condition: "upgrade-path", with: { target: "v1.36.0" } },
    world: world(),
    finds: ["refuse"],
  },
  {
    says: "upgrade-path: down",
    demand: { condition: "upgrade-path", with: { target: "v1.33.9" } },
    world: world(),
    finds: ["refuse"],
  },
  {
    says: "control-plane-version: a single one without static pods is asked itself",
    demand: { condition: "control-plane-version", with: { nodes: ["old-1"], version: "v1.34.4" } },
    world: world(),
    finds: [],
  },
  {
    says: "control-plane-version: and is not there yet",
    demand: { condition: "control-plane-version", with: { nodes: ["old-1"], version: "v1.35.4" } },
    world: world(),
    finds: ["hold SERVER-VERSION"],
    names: "v1.34.4",
  },
  {
    says: "control-plane-version: several without static pods cannot be told apart",
    demand: { condition: "control-plane-version", with: { nodes: ["cp-1", "cp-2"], version: "v1.34.4" } },
    world: world(),
    finds: ["hold NOT-DECIDED"],
  },
  {
    says: "control-plane-version: each by its static pod, whichever answers",
    demand: { condition: "control-plane-version", with: { nodes: ["cp-1"], version: "v1.35.4" } },
    world: world({ pods: [apiserver("cp-1", "v1.35.4"), apiserver("cp-2", "v1.34.4")] }),
    finds: [],
  },
  {
    says: "control-plane-version: one lags, one is not Ready, one is gone",
    demand: {
      condition: "control-plane-version",
      with: { nodes: ["cp-1", "cp-2", "cp-3", "cp-4"], version: "v1.35.4" },
    },
    world: world({
      pods: [
        apiserver("cp-1", "v1.35.4@sha256:0123"),
        apiserver("cp-2", "v1.34.4"),
        { ...apiserver("cp-3", "v1.35.4"), ready: false },
      ],
    }),
    finds: ["hold SERVER-VERSION", "hold SERVER-VERSION", "hold SERVER-VERSION"],
    names: "cp-2",
  },
  {
    says: "skew-supported: a kubelet as new as the newest API server is too new for the oldest",
    demand: { condition: "skew-supported", with: {} },
    world: world({
      nodes: [node("a", { kubeletVersion: "v1.35.4" })],
      pods: [apiserver("cp-1", "v1.35.4"), apiserver("cp-2", "v1.34.4")],
    }),
    finds: ["refuse"],
  },
  {
    says: "skew-supported: equal",
    demand: { condition: "skew-supported", with: {} },
    world: world(),
    finds: [],
  },
  {
    says: "skew-supported: a kubelet newer than its API server",
    demand: { condition: "skew-supported", with: {} },
    world: world({ nodes: [node("a", { kubeletVersion: "v1.35.0" })] }),
    finds: ["*"],
  },
  {
    says: "skew-supported: a kubelet four minors older",
    demand: { condition: "skew-supported", with: {} },
    world: world({ nodes: [node("a", { kubeletVersion: "v1.30.0" })] }),
    finds: ["*"],
  },
  {
    says: "nodes-as-reviewed: they are",
    demand: { condition: "nodes-as-reviewed", with: { nodes: { a: "uid-a" }, target: "v1.35.4" } },
    world: world({ nodes: [node("a")] }),
    finds: [],
  },
  {
    says: "nodes-as-reviewed: gone, and made anew under its name",
    demand: {
      condition: "nodes-as-reviewed",
      with: { nodes: { a: "uid-a", b: "uid-b" }, target: "v1.35.4" },
    },
    world: world({ nodes: [node("b", { uid: "another" })] }),
    finds: ["refuse BOUND-NODE", "refuse BOUND-NODE"],
    names: "gone",
  },
  {
    says: "nodes-as-reviewed: one joined that needs the upgrade",
    demand: { condition: "nodes-as-reviewed", with: { nodes: { a: "uid-a" }, target: "v1.35.4" } },
    world: world({ nodes: [node("a"), node("new")] }),
    finds: ["hold NODE-JOINED"],
  },
  {
    says: "nodes-as-reviewed: one joined at the target, whatever its name",
    demand: { condition: "nodes-as-reviewed", with: { nodes: { a: "uid-a" }, target: "v1.35.4" } },
    world: world({ nodes: [node("a"), node("constructor", { kubeletVersion: "v1.35.4" })] }),
    finds: ["warn NODE-JOINED"],
  },
];
