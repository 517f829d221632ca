/**
 * Checks of the files that the `upgrade` plan leaves behind. Each takes a file's text (or, for YAML, its parsed data) and
 * what must be true, and returns what is wrong with it: free in form as kubectl's output is, strict in meaning.
 */

import { z } from "zod";
import type { Finding } from "./finding.ts";
import { checkRollout } from "./rollout.ts";
import { namesWord } from "./runbook-check.ts";
import { didYouMean } from "./suggest.ts";
import { readVersion } from "./versions.ts";

/** A checker of one file; `file` is its name in findings. */
type Report = (message: string, repair: string) => Finding;

const reporter =
  (file: string, rule: string): Report =>
  (message, repair) => ({ code: "ARTEFACT", severity: "refuse", subject: file, message, rule, repair });

/** Node name to kubelet version. */
export type KubeletVersions = Readonly<Record<string, string>>;

export interface LiveVersions {
  /** The API server's `gitVersion`; not compared when it is not known. */
  readonly server?: string;
  /** The cluster's nodes: the file must have exactly these, with these versions. */
  readonly nodes: KubeletVersions;
}

const versionsSchema = z.object({ server: z.string(), nodes: z.record(z.string(), z.string()) });

/** `versions.json`: `{"server": "v1.x.y", "nodes": {"<node>": "<kubelet version>"}}`. */
export function checkVersionsFile(text: string, live: LiveVersions): Finding[] {
  const report = reporter(
    "versions.json",
    "server and nodes hold what kubectl version and kubectl get nodes report",
  );
  const json = parseJson(text);
  if (!json.ok) return [report(`is no JSON: ${json.why}`, "write it again")];
  const parsed = versionsSchema.safeParse(json.value);
  if (!parsed.success) {
    return parsed.error.issues.map((issue) =>
      report(
        `${issue.path.map(String).join(".") || "the document"}: ${issue.message}`,
        "give it the keys server and nodes",
      ),
    );
  }
  const { server, nodes } = parsed.data;
  const findings: Finding[] = [];
  const fullVersion = (value: string): boolean => {
    const read = readVersion(value);
    return read.ok && read.version.patch !== null && value.startsWith("v");
  };
  if (!fullVersion(server))
    findings.push(report(`server is "${server}"`, "write it as the server does, v1.x.y"));
  else if (live.server !== undefined && live.server !== server) {
    findings.push(
      report(`server is "${server}", the API server runs ${live.server}`, "collect the versions again"),
    );
  }
  for (const [name, version] of Object.entries(live.nodes)) {
    const written = Object.hasOwn(nodes, name) ? nodes[name] : undefined;
    if (written === undefined) findings.push(report(`nodes lacks ${name}`, "collect the versions again"));
    else if (written !== version) {
      findings.push(
        report(`nodes.${name} is "${written}", its kubelet runs ${version}`, "collect the versions again"),
      );
    }
  }
  for (const name of Object.keys(nodes)) {
    if (Object.hasOwn(live.nodes, name)) continue;
    findings.push(
      report(
        `nodes.${name} is no node of the cluster${didYouMean(name, Object.keys(live.nodes))}`,
        "take it away",
      ),
    );
  }
  return findings;
}

export interface NodeRow {
  readonly name: string;
  /** Of the STATUS column, e.g. `["Ready", "SchedulingDisabled"]`. */
  readonly status: readonly string[];
}

/** The rows of `kubectl get nodes`, with or without its headings, `-o wide` or not. */
export function readNodeTable(text: string): NodeRow[] {
  return text
    .split(/\r?\n/)
    .map((line) => line.trim().split(/\s+/))
    .filter(
      ([name = "", status = ""]) =>
        name !== "" && name !== "NAME" && /^(Not)?Ready\b|^Unknown\b|SchedulingDisabled/.test(status),
    )
    .map(([name = "", status = ""]) => ({ name: name.replace(/^node\//, ""), status: status.split(",") }));
}

export interface OneNode {
  readonly node: string;
  /** All nodes of the cluster. */
  readonly nodes: readonly string[];
}

/** `cordon.txt`: the node list right after the cordon, where this node and no other is closed for scheduling. */
export function checkCordonFile(text: string, { node, nodes }: OneNode): Finding[] {
  const report = reporter(
    "cordon.txt",
    "one node at a time is cordoned, and the list shows SchedulingDisabled for it",
  );
  const rows = readNodeTable(text);
  if (rows.length === 0) return [report("holds no node list", "save the output of kubectl get nodes in it")];
  const findings: Finding[] = [];
  const listed = new Set(rows.map(({ name }) => name));
  for (const name of nodes)
    if (!listed.has(name)) findings.push(report(`does not list ${name}`, "list all nodes"));
  for (const { name, status } of rows) {
    const closed = status.includes("SchedulingDisabled");
    if (name === node && !closed)
      findings.push(report(`${name} is not SchedulingDisabled`, `cordon ${name}, then list the nodes`));
    if (name !== node && closed)
      findings.push(
        report(`${name} is SchedulingDisabled as well`, `uncordon ${name}, then list the nodes again`),
      );
    if (!nodes.includes(name))
      findings.push(report(`lists ${name}, which is no node of the cluster`, "list this cluster's nodes"));
  }
  return findings;
}

/** `cordon-note.txt`: one line that says that pods which run already are left alone. */
export function checkCordonNote(text: string): Finding[] {
  const report = reporter(
    "cordon-note.txt",
    "a cordon stops new pods from being scheduled and does not touch running ones",
  );
  const repair = 'write one line, e.g. "cordon stops new pods from coming and leaves running pods alone"';
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length !== 1) return [report(`has ${lines.length} lines that are not empty`, repair)];
  const [line = ""] = lines;
  const findings: Finding[] = [];
  if (!/cordon/i.test(line)) findings.push(report("does not say that it is about cordon", repair));
  const pods = /\bpods?\b/i.test(line) && /\b(running|run|existing|already|present|there)\b/i.test(line);
  const alone =
    /\b(leave|leaves|left|leaving)\b.*\b(alone|untouched|running|as they are|in place|where they are)\b/i.test(
      line,
    ) ||
    /\b(not|never|no|without|nor)\b|n't\b/i.test(line) ||
    /\b(keep|keeps|stay|stays|continue|continues|remain|remains|unaffected|untouched)\b/i.test(line);
  if (!pods || !alone) findings.push(report("does not say that running pods are left alone", repair));
  return findings;
}

export interface DrainExpectation {
  readonly node: string;
  /** Pods that had to go, as `namespace/name`: each must be listed. Without it, one eviction at least. */
  readonly evicted?: readonly string[];
}

/** `drain.txt`: names the node, lists the evictions, ends with `node/<name> drained`. */
export function checkDrainFile(text: string, { node, evicted }: DrainExpectation): Finding[] {
  const report = reporter(
    "drain.txt",
    'the output of a drain lists the evictions and ends with "node/<name> drained"',
  );
  const lines = nonBlank(text);
  const findings: Finding[] = [];
  if (lines.length === 0) return [report("is empty", `drain ${node} and save the output`)];
  if (lines.at(-1) !== `node/${node} drained`) {
    const last = lines.at(-1) ?? "";
    findings.push(
      report(
        `ends with "${last}", not with "node/${node} drained"`,
        `drain ${node} to its end and save the output`,
      ),
    );
  }
  const gone = new Set(lines.flatMap(evictedPod));
  if (evicted === undefined && gone.size === 0) {
    findings.push(
      report("lists no eviction", "save the whole output of the drain, with the pods it evicted"),
    );
  }
  for (const pod of evicted ?? []) {
    const name = pod.slice(pod.indexOf("/") + 1);
    if (!gone.has(pod) && !gone.has(name))
      findings.push(report(`does not list the eviction of ${pod}`, "save the whole output of the drain"));
  }
  return findings;
}

/** `evicting pod ns/name`, or the line afterwards, `pod/name evicted`. */
function evictedPod(line: string): string[] {
  const match = /^evicting pod "?([^\s"]+)"?|^pod[/ ]"?([^\s"]+)"? evicted/.exec(line);
  const name = match?.[1] ?? match?.[2];
  return name === undefined ? [] : [name];
}

export interface PlacementExpectation extends OneNode {
  /** Pods of the Deployment; that many lines at least. */
  readonly replicas: number;
}

/** `after-drain.txt`: where the pods are after the drain: enough lines, none on the drained node. */
export function checkAfterDrainFile(
  text: string,
  { node, nodes, replicas }: PlacementExpectation,
): Finding[] {
  const report = reporter("after-drain.txt", "after a drain all pods run elsewhere, as many as before");
  const lines = nonBlank(text).filter((line) => !/^(NAMESPACE|NAME)\s/.test(line));
  const findings: Finding[] = [];
  if (lines.length < replicas) {
    findings.push(
      report(`lists ${lines.length} pods, not ${replicas}`, "list the pods once all are Ready again"),
    );
  }
  // Whole words: node-1 is not on the line of node-10.
  const still = lines.filter((line) => namesWord(line, node));
  if (still.length > 0)
    findings.push(
      report(`names the drained ${node}: ${still[0] ?? ""}`, "list the pods after the drain has ended"),
    );
  const others = nodes.filter((name) => name !== node);
  const placed = lines.filter((line) => others.some((name) => namesWord(line, name)));
  if (placed.length < Math.min(lines.length, replicas)) {
    const missing = placed.length === 0 ? "names no other node" : "has lines without a node's name";
    findings.push(report(missing, "list the pods with -o wide, so that their nodes show"));
  }
  return findings;
}

/** `uncordon.txt`: the output of the uncordon of this node. */
export function checkUncordonFile(text: string, { node }: { readonly node: string }): Finding[] {
  const report = reporter(
    "uncordon.txt",
    'a node that was drained is opened again: "node/<name> uncordoned"',
  );
  const wanted = [`node/${node} uncordoned`, `node/${node} already uncordoned`];
  if (nonBlank(text).some((line) => wanted.includes(line))) return [];
  return [report(`has no line "node/${node} uncordoned"`, `uncordon ${node} and save the output`)];
}

/** `rollout.json`: see `checkRollout`. */
export function checkRolloutFile(text: string, nodes: readonly string[]): Finding[] {
  const json = parseJson(text);
  if (!json.ok) {
    return [
      reporter("rollout.json", "the rollout is JSON: stages and verify_between_stages")(
        `is no JSON: ${json.why}`,
        "write it again",
      ),
    ];
  }
  return checkRollout(json.value, nodes).map((finding) => ({
    ...finding,
    subject: `rollout.json ${finding.subject}`,
  }));
}

const nonBlank = (text: string): string[] =>
  text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== "");

type Json = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly why: string };

function parseJson(text: string): Json {
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}
