import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { SKEW_ANSWER_KEYS } from "../../analysis/skew.ts";
import { answerTemplate } from "../../config/skew-template.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "skew-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const ANSWERS = SKEW_ANSWER_KEYS.map((key) => `  ${key}: "?"`).join("\n");

function answer(text: string) {
  const file = path.join(folder, "template.yaml");
  writeFileSync(file, text);
  return { file, result: answerTemplate(file, "v1.34.4") };
}

function problem(text: string) {
  const { file, result } = answer(text);
  if (result.ok) throw new Error("accepted");
  for (const finding of result.findings) {
    expect(finding.severity).toBe("refuse");
    expect(finding.subject).toContain("cluster-migration:upgrade.skewTemplate");
    expect(`${finding.subject} ${finding.message}`).toContain(file);
    expect(finding.rule).not.toBe("");
    expect(finding.repair).not.toBe("");
  }
  return result.findings.map((one) => `${one.subject} ${one.message}`).join("\n");
}

describe("a template", () => {
  it("is answered for its own API server", () => {
    const { result } = answer(`apiserver: "1.30"\nanswers:\n${ANSWERS}\n`);
    if (!result.ok) throw new Error(JSON.stringify(result.findings));
    expect(result.document).toMatchObject({
      apiserver: "1.30",
      answers: { min_kubelet: "1.27", max_kubelet: "1.30", max_kubectl: "1.31" },
    });
  });

  it("is made for the live API server where none is given", () => {
    const made = answerTemplate(undefined, "v1.34.4-eks-1");
    if (!made.ok) throw new Error(JSON.stringify(made.findings));
    expect(made.document.apiserver).toBe("1.34");
    expect(Object.keys(made.document.answers).sort()).toEqual([...SKEW_ANSWER_KEYS].sort());
    expect(Object.values(made.document.answers)).not.toContain("?");
  });
});

describe("a template that will not do", () => {
  it("is not there", () => {
    const file = path.join(folder, "nowhere.yaml");
    const result = answerTemplate(file, "v1.34.4");
    if (result.ok) throw new Error("accepted");
    expect(result.findings).toHaveLength(1);
    expect(result.findings[0]?.message).toBe(`'${file}' cannot be read: there is no such file`);
  });

  it("is a folder", () => {
    const result = answerTemplate(folder, "v1.34.4");
    expect(result.ok).toBe(false);
  });

  it("is no YAML", () => {
    expect(problem("apiserver: [1,\nanswers: }")).toContain("cannot be read");
  });

  it("is empty", () => {
    problem("");
  });

  it("lacks the API server", () => {
    expect(problem(`answers:\n${ANSWERS}\n`)).toContain("apiserver");
  });

  it("lacks the answers", () => {
    expect(problem('apiserver: "1.34"\n')).toContain("answers");
  });

  it("lacks a key", () => {
    expect(problem(`apiserver: "1.34"\nanswers:\n${ANSWERS.split("\n").slice(1).join("\n")}\n`)).toContain(
      SKEW_ANSWER_KEYS[0],
    );
  });

  it("has a key too many", () => {
    expect(problem(`apiserver: "1.34"\nanswers:\n${ANSWERS}\n  max_kublet: "?"\n`)).toContain("max_kublet");
  });

  it("has an unquoted version that became a number", () => {
    expect(problem(`apiserver: 1.30\nanswers:\n${ANSWERS}\n`)).toContain("1.3");
  });
});
