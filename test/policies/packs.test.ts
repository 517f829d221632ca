import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS } from "../../commands/registry.ts";
import { catalogue } from "../../policies/catalogue.ts";
import { EMPTIES_NODES, IRREVERSIBLE, OBSERVERS } from "../../policies/documents.ts";
import { migration } from "../../policies/packs.ts";

const root = join(import.meta.dirname, "../..");

describe("the pack", () => {
  test("has these members, at these levels", () => {
    expect(migration.members.map(({ rule, level }) => `${level} ${rule.name}`)).toEqual([
      "mandatory irreversible-needs-snapshot",
      "mandatory work-after-gate",
      "mandatory drain-needs-budget",
      "mandatory one-canary",
      "mandatory batch-after-verified",
      "mandatory one-minor-at-a-time",
      "mandatory gate-runs-again",
      "mandatory no-reversing-delete",
      "mandatory no-secrets-in-commands",
      "mandatory no-empty-barrier",
      "mandatory no-delete-unreachable",
      "mandatory record-is-protected",
      "advisory target-is-a-release",
      "advisory budget-protects",
      "advisory no-empty-component",
      "advisory not-decided",
    ]);
  });

  test.each(migration.members.map(({ rule }) => rule))(
    "$name says what, why and what to do, and judges",
    (rule) => {
      expect(rule.name).toMatch(/^[a-z]+(-[a-z]+)+$/);
      expect(rule.demands).toMatch(/^[A-Z].*\.$/);
      for (const words of [rule.why, rule.repair]) expect(words).toMatch(/[^.\s]$/);
      expect(rule.resource ?? rule.stack).toBeDefined();
    },
  );

  test("is described by docs/policies.md as it is: node policies/catalogue.ts > docs/policies.md", () => {
    expect(readFileSync(join(root, "docs/policies.md"), "utf8")).toBe(catalogue(migration));
  });

  test("has a version: Pulumi loads none without", () => {
    const manifest = JSON.parse(readFileSync(join(root, "policies/package.json"), "utf8")) as unknown;
    expect(manifest).toMatchObject({
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/) as string,
      main: "pack.cjs",
    });
  });
});

describe("what policies say of commands", () => {
  test("commands that need no gate change nothing, and every other name is one of the registry", () => {
    for (const name of OBSERVERS) expect(COMMANDS[name]).toMatchObject({ mutates: false });
    for (const name of [...IRREVERSIBLE, ...EMPTIES_NODES])
      expect(COMMANDS[name]).toMatchObject({ mutates: true });
  });
});
