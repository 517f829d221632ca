import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { checkSkewDocument, fillSkewTemplate } from "../../analysis/skew-template.ts";

const template = (apiserver = '"1.34"', question = '"?"'): unknown =>
  parse(`
apiserver: ${apiserver}
answers:
  min_kubelet: ${question}
  max_kubelet: ${question}
  max_kubectl: ${question}
  min_kubectl: ${question}
  max_controller_manager: ${question}
  next_upgrade_target: ${question}
  downgrade_supported: ${question}
`);
const answers = {
  min_kubelet: "1.31",
  max_kubelet: "1.34",
  max_kubectl: "1.35",
  min_kubectl: "1.33",
  max_controller_manager: "1.34",
  next_upgrade_target: "1.35",
  downgrade_supported: "no",
};
const problems = (value: unknown): string[] => {
  const filled = fillSkewTemplate(value);
  return filled.ok
    ? []
    : filled.findings.map(({ subject, message, repair }) => `${subject} ${message}; ${repair}`);
};

describe("filling the template", () => {
  test.each(['"?"', "", '"???"', "null", '" "'])("the question written as %s is answered", (question) => {
    expect(fillSkewTemplate(template('"1.34"', question))).toEqual({
      ok: true,
      document: { apiserver: "1.34", answers },
    });
  });

  test("a list of versions is a control plane half-way through an upgrade", () => {
    const filled = fillSkewTemplate(template('["1.33", "1.34"]'));
    expect(filled).toMatchObject({ ok: true, document: { apiserver: ["1.33", "1.34"] } });
    if (filled.ok)
      expect(filled.document.answers).toMatchObject({ max_kubelet: "1.33", next_upgrade_target: "1.34" });
  });

  test("what is filled in passes the check", () => {
    for (const apiserver of ['"1.34"', '"1.9"', '"v1.29.4-eks-036c24b"', '["1.33", "1.34"]']) {
      const filled = fillSkewTemplate(template(apiserver));
      expect(filled.ok && checkSkewDocument(filled.document)).toEqual([]);
    }
  });

  test("answers that are right already may stay; filling twice changes nothing", () => {
    const once = fillSkewTemplate({ apiserver: "1.34", answers: { ...answers, min_kubelet: "?" } });
    expect(once).toMatchObject({ ok: true, document: { answers } });
    if (once.ok) expect(fillSkewTemplate(once.document)).toEqual(once);
  });

  test("every problem is told at once, with its path and the repair", () => {
    const wrong = {
      apiserver: 1.3,
      answer: {},
      answers: { min_kubelet: "?", max_kubelt: "?", min_kubectl: "?", downgrade_supported: "?" },
    };
    const found = problems(wrong);
    expect(found).toHaveLength(7);
    expect(found[0]).toContain('answer is no known key (did you mean "answers"?)');
    expect(found[1]).toContain(
      'apiserver 1.3 is a number: YAML reads an unquoted 1.30 as 1.3; write the version in quotes, e.g. "1.30"',
    );
    expect(found.filter((text) => text.includes("is missing"))).toHaveLength(4);
    expect(found.at(-1)).toContain('answers.max_kubelt is no known key (did you mean "max_kubelet"?)');
  });

  test.each<[string, unknown, string]>([
    ["no mapping", "1.34", "is no mapping"],
    ["an empty file", null, "is no mapping"],
    ["no apiserver", { answers }, "apiserver is missing"],
    ["no answers", { apiserver: "1.34" }, "answers is missing"],
    ["answers as a list", { apiserver: "1.34", answers: [] }, "answers is no mapping"],
    ["an empty list of versions", { apiserver: [], answers }, "apiserver is an empty list"],
    ["no version", { apiserver: "newest", answers }, "is not a Kubernetes version"],
    ["versions two minors apart", { apiserver: ["1.32", "1.34"], answers }, "more than one minor apart"],
    [
      "a wrong answer",
      { apiserver: "1.34", answers: { ...answers, max_kubectl: "1.34" } },
      'answers.max_kubectl is answered already, with "1.34", where "1.35" is right',
    ],
  ])("%s is refused", (_name, value, message) => {
    expect(problems(value).join("\n")).toContain(message);
  });
});

describe("checking a filled document", () => {
  test.each(Object.keys(answers))("a wrong, open or missing %s is found", (key) => {
    const check = (value: unknown): string[] =>
      checkSkewDocument({ apiserver: "1.34", answers: { ...answers, [key]: value } }).map(
        ({ subject }) => subject,
      );
    expect(check("1.20")).toEqual([`answers.${key}`]);
    expect(check("?")).toEqual([`answers.${key}`]);
    const others = Object.fromEntries(Object.entries(answers).filter(([name]) => name !== key));
    expect(checkSkewDocument({ apiserver: "1.34", answers: others }).map(({ subject }) => subject)).toEqual([
      `answers.${key}`,
    ]);
  });

  test("an answer that lost its quotes is found, with the reason", () => {
    const document: unknown = parse('apiserver: "1.29"\nanswers: {next_upgrade_target: 1.30}');
    expect(checkSkewDocument(document).at(-1)).toMatchObject({
      message: "is 1.3",
      repair: 'write "1.30"; in quotes, since YAML makes 1.30 a 1.3',
    });
  });

  test("the answers are measured against the document's own apiserver", () => {
    expect(checkSkewDocument({ apiserver: "1.33", answers })).not.toEqual([]);
  });
});
