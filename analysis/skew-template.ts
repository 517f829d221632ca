/**
 * The version-skew exercise as a document: `apiserver: "1.34"` and, under `answers`, a question mark for each key.
 * Works on parsed data; YAML is read and written elsewhere.
 */

import type { Finding } from "./finding.ts";
import { SKEW_ANSWER_KEYS, SKEW_RULE, type SkewAnswers, skewAnswers } from "./skew.ts";
import { didYouMean } from "./suggest.ts";
import { type Minor, formatMinor, minorOf, versionFromConfig } from "./versions.ts";

export interface SkewDocument {
  /** One release line, or a list of them for a control plane in mixed versions. */
  readonly apiserver: string | readonly string[];
  readonly answers: SkewAnswers;
}

export type SkewResult =
  | { readonly ok: true; readonly document: SkewDocument }
  | { readonly ok: false; readonly findings: readonly Finding[] };

/**
 * Fills in a template. Refused, with every problem at once: missing or unknown keys, an API server version that is
 * missing, not in quotes or no version, and an answer that is there already and wrong (a right one may stay).
 */
export function fillSkewTemplate(template: unknown): SkewResult {
  const read = readDocument(template);
  const findings = [...read.findings];
  if (read.answers !== null && read.expected !== null) {
    for (const [key, given] of Object.entries(read.answers)) {
      if (isQuestion(given) || !isKey(key) || given === read.expected[key]) continue;
      findings.push(
        problem(
          `answers.${key}`,
          `is answered already, with ${show(given)}, where ${show(read.expected[key])} is right`,
          'put "?" in its place, or correct it',
        ),
      );
    }
  }
  if (findings.length > 0 || read.apiserver === null || read.expected === null)
    return { ok: false, findings };
  return { ok: true, document: { apiserver: read.apiserver, answers: read.expected } };
}

/** Everything wrong with a filled document, measured against its own `apiserver`. */
export function checkSkewDocument(document: unknown): Finding[] {
  const read = readDocument(document);
  const findings = [...read.findings];
  for (const [key, given] of Object.entries(read.answers ?? {})) {
    if (read.expected === null || !isKey(key)) continue;
    const right = read.expected[key];
    if (given === right) continue;
    const seen = isQuestion(given) ? "is not answered" : `is ${show(given)}`;
    const hint = typeof given === "number" ? "; in quotes, since YAML makes 1.30 a 1.3" : "";
    findings.push(problem(`answers.${key}`, seen, `write ${show(right)}${hint}`));
  }
  return findings;
}

interface Read {
  readonly findings: readonly Finding[];
  readonly apiserver: string | readonly string[] | null;
  readonly answers: Readonly<Record<string, unknown>> | null;
  /** Null when `apiserver` can't be used. */
  readonly expected: SkewAnswers | null;
}

function readDocument(value: unknown): Read {
  if (!isObject(value)) {
    const finding = problem("skew document", "is no mapping", "give it the keys apiserver and answers");
    return { findings: [finding], apiserver: null, answers: null, expected: null };
  }
  const findings: Finding[] = [];
  for (const key of Object.keys(value)) {
    if (key !== "apiserver" && key !== "answers") {
      findings.push(
        problem(key, `is no known key${didYouMean(key, ["apiserver", "answers"])}`, "take it away"),
      );
    }
  }
  const apiserver = readApiservers(value["apiserver"], findings);
  const answers = readAnswers(value["answers"], findings);
  const expected = apiserver === null ? null : answersFor(apiserver.minors, findings);
  return { findings, apiserver: apiserver?.text ?? null, answers, expected };
}

function readApiservers(
  value: unknown,
  findings: Finding[],
): { readonly text: string | readonly string[]; readonly minors: readonly Minor[] } | null {
  if (value === undefined) {
    findings.push(
      problem("apiserver", "is missing", 'give the API server\'s version, e.g. apiserver: "1.34"'),
    );
    return null;
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0) findings.push(problem("apiserver", "is an empty list", "name at least one version"));
  const texts: string[] = [];
  list.forEach((item, index) => {
    const read = versionFromConfig(item);
    if (read.ok) texts.push(read.version.text);
    else
      findings.push(
        problem(Array.isArray(value) ? `apiserver.${index}` : "apiserver", read.message, read.repair),
      );
  });
  if (list.length === 0 || texts.length < list.length) return null;
  const [only = ""] = texts;
  return { text: Array.isArray(value) ? texts : only, minors: texts.map((text) => minorOf(text)) };
}

function readAnswers(value: unknown, findings: Finding[]): Readonly<Record<string, unknown>> | null {
  if (!isObject(value)) {
    const seen = value === undefined ? "is missing" : "is no mapping";
    findings.push(problem("answers", seen, `give it the keys ${SKEW_ANSWER_KEYS.join(", ")}`));
    return null;
  }
  const missing = SKEW_ANSWER_KEYS.filter((key) => !Object.hasOwn(value, key));
  for (const key of missing) findings.push(problem(`answers.${key}`, "is missing", `add it: ${key}: "?"`));
  for (const key of Object.keys(value)) {
    if (isKey(key)) continue;
    findings.push(
      problem(
        `answers.${key}`,
        `is no known key${didYouMean(key, missing)}`,
        "take it away, or correct its name",
      ),
    );
  }
  return value;
}

function answersFor(minors: readonly Minor[], findings: Finding[]): SkewAnswers | null {
  try {
    return skewAnswers(minors);
  } catch (error) {
    const why = error instanceof RangeError ? error.message : String(error);
    findings.push(
      problem(
        "apiserver",
        why,
        `bring the lists of versions (${minors.map(formatMinor).join(", ")}) within one minor`,
      ),
    );
    return null;
  }
}

/** YAML makes of a bare `?` a null, or a mapping of nothing to nothing. */
const isQuestion = (value: unknown): boolean =>
  value === null ||
  (typeof value === "string" && /^\s*\?*\s*$/.test(value)) ||
  (isObject(value) && Object.keys(value).every((key) => key === "" || key === "null"));

const isKey = (key: string): key is keyof SkewAnswers => SKEW_ANSWER_KEYS.some((known) => known === key);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const show = (value: unknown): string => (value === undefined ? "nothing" : JSON.stringify(value));

function problem(subject: string, message: string, repair: string): Finding {
  return { code: "SKEW-DOCUMENT", severity: "refuse", subject, message, rule: SKEW_RULE, repair };
}
