/** Does a runbook say what it must, in the right order? Works on any text, not only on one rendered here. */

import type { Finding } from "./finding.ts";
import { formatVersion, readVersion } from "./versions.ts";

export interface RunbookExpectation {
  /** Names of all nodes. */
  readonly nodes: readonly string[];
  readonly target: string;
}

const MIN_BYTES = 500;

/** The first line that matches counts, as for a reader who goes through it from the top. */
const STEPS: readonly { readonly name: string; readonly pattern: RegExp }[] = [
  { name: "etcd snapshot", pattern: /etcd.*snapshot|snapshot.*etcd/i },
  { name: "kubeadm upgrade plan", pattern: /kubeadm\s+upgrade\s+plan/i },
  { name: "kubeadm upgrade apply", pattern: /kubeadm\s+upgrade\s+apply/i },
  { name: "kubeadm upgrade node", pattern: /kubeadm\s+upgrade\s+node/i },
  { name: "drain", pattern: /drain/i },
  { name: "uncordon", pattern: /uncordon/i },
];

/** A sentence that matches all the patterns says it. */
const SENTENCES: readonly {
  readonly what: string;
  readonly patterns: readonly RegExp[];
  readonly repair: string;
}[] = [
  {
    what: "that minors go one at a time",
    patterns: [/\bminors?\b/i, /\bone (at a time|minor)\b|\bone by one\b|\bskip/i],
    repair: 'say: "Minor versions cannot be skipped: they go one at a time."',
  },
  {
    what: "that a downgrade does not exist",
    patterns: [/downgrad/i, /\b(not|no|never|cannot|impossible|unsupported)\b|n't\b/i],
    repair: 'say: "A downgrade does not exist."',
  },
  {
    what: "that the only way back is the snapshot",
    patterns: [/snapshot/i, /\b(only|no other)\b/i, /\b(way|back|restor\w*|recover\w*)\b/i],
    repair: 'say: "The only way back is to restore the snapshot."',
  },
];

/** Size, order of the steps, the sentences that must be there, every node and the target named. */
export function checkRunbook(text: string, { nodes, target }: RunbookExpectation): Finding[] {
  const findings: Finding[] = [];
  const bytes = new TextEncoder().encode(text).length;
  if (bytes <= MIN_BYTES) {
    findings.push(
      finding(
        "RUNBOOK-SHORT",
        `has ${bytes} bytes`,
        `a runbook that can be followed has more than ${MIN_BYTES}`,
      ),
    );
  }
  findings.push(...checkOrder(text.split(/\r?\n/)));
  const sentences = sentencesOf(text);
  for (const { what, patterns, repair } of SENTENCES) {
    if (!sentences.some((sentence) => patterns.every((pattern) => pattern.test(sentence))))
      findings.push(finding("RUNBOOK-SENTENCE", `does not say ${what}`, repair));
  }
  const missing = nodes.filter((name) => !namesWord(text, name));
  if (missing.length > 0) {
    findings.push(
      finding("RUNBOOK-NODES", `does not name ${missing.join(", ")}`, "name every node of the cluster"),
    );
  }
  const version = readVersion(target);
  const written = version.ok ? formatVersion(version.version).replace(/^v/, "") : target;
  if (!namesWord(text.replace(/\bv(?=[0-9])/g, ""), written)) {
    findings.push(
      finding("RUNBOOK-TARGET", `does not name the target version ${target}`, `name it in full: v${written}`),
    );
  }
  return findings;
}

function checkOrder(lines: readonly string[]): Finding[] {
  const found = STEPS.map(({ name, pattern }) => ({
    name,
    line: lines.findIndex((line) => pattern.test(line)),
  }));
  const findings = found
    .filter(({ line }) => line < 0)
    .map(({ name }) =>
      finding("RUNBOOK-STEP", `has no line with "${name}"`, `add the step "${name}", on a line of its own`),
    );
  const present = found.filter(({ line }) => line >= 0);
  present.forEach((step, index) => {
    const next = present[index + 1];
    if (next === undefined || step.line < next.line) return;
    const where =
      step.line === next.line
        ? `both on line ${step.line + 1}`
        : `on lines ${step.line + 1} and ${next.line + 1}`;
    findings.push(
      finding(
        "RUNBOOK-ORDER",
        `"${step.name}" and "${next.name}" first occur ${where}`,
        `"${step.name}" comes first, on a line of its own`,
      ),
    );
  });
  return findings;
}

/** A sentence may run over lines; a blank line, a heading, an item of a list and a row of a table end it. */
const sentencesOf = (text: string): string[] =>
  text
    .split(/\n\s*(?=\n|[-*#|]|[0-9]+[.)] )/)
    .flatMap((block) => block.replace(/\s+/g, " ").split(/(?<=[.!?]) /));

/** As a word of its own: `node-1` is not named by `node-10`, nor `1.35.1` by `1.35.10`. */
export function namesWord(text: string, word: string): boolean {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(?<![A-Za-z0-9._-])${escaped}(?![A-Za-z0-9_-]|\\.[A-Za-z0-9])`).test(text);
}

function finding(code: string, message: string, repair: string): Finding {
  return {
    code,
    severity: "refuse",
    subject: "runbook",
    message,
    rule: "a runbook has its steps on lines of their own, in the order in which they are safe",
    repair,
  };
}
