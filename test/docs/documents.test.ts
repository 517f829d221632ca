/** The documents say what the program does: each of these fails when one of the two changes alone. */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { format } from "prettier";
import { expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { parseStackConfig } from "../../config/stack.ts";
import { exampleConfig, page, ROOT } from "./example.ts";
import { exampleStages, PAGE, withStages } from "./stage-reference.ts";

const NAMESPACE = "cluster-migration";

test("the example stack parses", () => {
  expect(parseStackConfig(exampleConfig(), NAMESPACE)).toMatchObject({ ok: true });
});

test("the stages in docs/upgrade.md are those of the plan", async () => {
  const text = page(PAGE);
  const now = await format(withStages(text), { parser: "markdown", printWidth: 110 });
  expect(text, "node test/docs/stage-reference.ts, then make format").toBe(now);
});

test("the table of stages in README.md is that of the plan", () => {
  const rows = [...page("README.md").matchAll(/^\| `([a-z0-9-]+)` +\|.*\| (yes|\*\*no\*\*) +\|$/gmu)];
  expect(rows.map(([, name, undone]) => [name, undone === "yes"])).toEqual(
    exampleStages().map((stage) => [stage.name, stage.undo.possible]),
  );
});

const MANIFESTS = ["docs/permissions/preview.yaml", "docs/permissions/up.yaml"];

test.each(MANIFESTS)("%s names the drill's objects as the example stack does", (file) => {
  const parsed = parseStackConfig(exampleConfig(), NAMESPACE);
  if (!parsed.ok) throw new Error("the example stack does not parse");
  const { namespace, name } = parsed.config.upgrade.drill;
  const text = page(file);
  expect(() => text.split(/^---$/mu).map((one) => parseYaml(one) as unknown)).not.toThrow();
  for (const wanted of file.includes("up.yaml") ? [namespace, name, `${name}-pdb`] : [])
    expect(text).toContain(`resourceNames: [${wanted}]`);
});

const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...readdirSync(path.join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

test.each(PAGES)("the links in %s lead to files and headings that are there", (file) => {
  const broken = [...page(file).matchAll(/\]\((?!https?:)([^)\s]+)\)/gu)].flatMap(([, link = ""]) => {
    const [target = "", heading] = link.split("#");
    const to = target === "" ? file : path.join(path.dirname(file), target);
    if (!existsSync(path.join(ROOT, to))) return [link];
    return heading === undefined || headings(page(to)).includes(heading) ? [] : [link];
  });
  expect(broken).toEqual([]);
});

/** Anchors as code hosts make them. */
function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gmu)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-"),
  );
}
