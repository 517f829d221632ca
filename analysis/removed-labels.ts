/**
 * Selectors that a Kubernetes upgrade empties, because it takes a node label away. Custom resources count as much as pods:
 * a BGP peer that selected its route reflectors by the `master` label took a whole cluster's network down for 314 minutes.
 */

import type { Finding } from "./finding.ts";
import { type Version, atLeast, formatMinor, parseVersion } from "./versions.ts";

export interface RemovedLabel {
  readonly label: string;
  /** What is there in its place. */
  readonly successor: string;
  /** First version whose nodes come without the label. */
  readonly labelGoneIn: string;
  /** First version whose nodes come without the taint of that key. */
  readonly taintGoneIn: string;
}

/** kubeadm stopped setting the label in 1.24 and the taint in 1.25 (kubernetes/enhancements, KEP 2067). */
export const REMOVED_LABELS: readonly RemovedLabel[] = [
  {
    label: "node-role.kubernetes.io/master",
    successor: "node-role.kubernetes.io/control-plane",
    labelGoneIn: "1.24.0",
    taintGoneIn: "1.25.0",
  },
];

/**
 * `objects`: anything that `kubectl get -o json` gives, custom resources included; `metadata` and `status` are not looked
 * at. Refuses selectors that would select otherwise after the step, warns of mere preferences and of tolerations without
 * their successor. A selector that has the successor as an alternative is fine.
 * @throws VersionError
 */
export function removedLabelFindings(
  upgrade: { readonly from: string; readonly to: string },
  objects: readonly unknown[],
  removed: readonly RemovedLabel[] = REMOVED_LABELS,
): Finding[] {
  const [from, to] = [parseVersion(upgrade.from), parseVersion(upgrade.to)];
  const findings: Finding[] = [];
  for (const one of removed) {
    const labelGoes = crosses(from, to, one.labelGoneIn);
    const taintGoes = labelGoes || crosses(from, to, one.taintGoneIn);
    if (!taintGoes) continue;
    for (const object of objects) {
      if (!isObject(object)) continue;
      const uses = usesOf(object, one);
      const subject = nameOf(object);
      if (labelGoes) findings.push(...uses.selectors.map((use) => selectorFinding(subject, use, one)));
      findings.push(...uses.tolerations.map((path) => tolerationFinding(subject, path, one)));
    }
  }
  return findings;
}

const crosses = (from: Version, to: Version, gone: string): boolean =>
  !atLeast(from, gone) && atLeast(to, gone);

interface Use {
  readonly path: string;
  /** Scheduling goes on without a node that fits. */
  readonly preference: boolean;
}

interface Uses {
  readonly selectors: Use[];
  readonly tolerations: string[];
}

function usesOf(object: Json, one: RemovedLabel): Uses {
  const uses: Uses = { selectors: [], tolerations: [] };
  for (const [key, value] of Object.entries(object)) {
    if (key !== "metadata" && key !== "status") walk(value, [key], one, uses);
  }
  return uses;
}

function walk(value: unknown, path: readonly string[], one: RemovedLabel, uses: Uses): void {
  const note = (): void => {
    uses.selectors.push({
      path: path.join("."),
      preference: path.some((part) => part.startsWith("preferred")),
    });
  };
  if (typeof value === "string") {
    // Selector languages of custom resources: has(label), label == 'x', label=x.
    if (mentions(value, one.label) && !mentions(value, one.successor)) note();
    return;
  }
  if (Array.isArray(value)) {
    if (path.at(-1) === "tolerations") {
      const at = value.findIndex((item) => isObject(item) && item["key"] === one.label);
      if (at >= 0 && !value.some((item) => toleratesSuccessor(item, one)))
        uses.tolerations.push(`${path.join(".")}.${at}`);
      return;
    }
    // The terms of a node affinity are alternatives: one that names the successor is enough.
    if (
      path.at(-1) === "nodeSelectorTerms" &&
      value.some((term) => JSON.stringify(term).includes(one.successor))
    )
      return;
    value.forEach((item, index) => {
      walk(item, [...path, String(index)], one, uses);
    });
    return;
  }
  if (!isObject(value)) return;
  // matchLabels, nodeSelector and the like have the label as a key.
  if (Object.hasOwn(value, one.label)) note();
  for (const [key, inner] of Object.entries(value)) {
    if (key !== "metadata" || !isMetadata(inner)) walk(inner, [...path, key], one, uses);
  }
}

/** A pod template's metadata has labels of pods, which are not selectors of nodes. */
const isMetadata = (value: unknown): boolean =>
  isObject(value) && ["labels", "annotations", "name"].some((key) => Object.hasOwn(value, key));

function toleratesSuccessor(item: unknown, { successor }: RemovedLabel): boolean {
  if (!isObject(item)) return false;
  const key = item["key"];
  return key === successor || ((key === undefined || key === "") && item["operator"] === "Exists");
}

function mentions(text: string, label: string): boolean {
  const escaped = label.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![A-Za-z0-9._/-])${escaped}(?![A-Za-z0-9._/-])`).test(text);
}

function selectorFinding(subject: string, { path, preference }: Use, one: RemovedLabel): Finding {
  const gone = formatMinor(parseVersion(one.labelGoneIn));
  return {
    code: "UPGRADE-LABEL-REMOVED",
    severity: preference ? "warn" : "refuse",
    subject,
    message: `${path} goes by the node label ${one.label}, which no node has from ${gone} on`,
    rule: `${gone} replaces the label ${one.label} by ${one.successor}`,
    repair: `select by ${one.successor}, or by either, before the upgrade`,
  };
}

function tolerationFinding(subject: string, path: string, one: RemovedLabel): Finding {
  const gone = formatMinor(parseVersion(one.taintGoneIn));
  return {
    code: "UPGRADE-TAINT-REMOVED",
    severity: "warn",
    subject,
    message: `${path} tolerates the taint ${one.label}, but not ${one.successor}, which takes its place`,
    rule: `control-plane nodes are tainted ${one.successor} from 1.24 on, and no longer ${one.label} from ${gone} on`,
    repair: `add a toleration of ${one.successor}`,
  };
}

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function nameOf(object: Json): string {
  const metadata = isObject(object["metadata"]) ? object["metadata"] : object;
  const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
  const namespace = text(metadata["namespace"]);
  const name = text(metadata["name"]) ?? "without a name";
  return `${text(object["kind"]) ?? "object"} ${namespace === null ? "" : `${namespace}/`}${name}`;
}
