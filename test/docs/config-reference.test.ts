/** The config reference in docs/upgrade.md has every key, its default as it is, and an example that is accepted. */
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { parseStackConfig, type ParsedConfig } from "../../config/stack.ts";
import { UpgradeConfig } from "../../config/upgrade.ts";
import { page } from "./example.ts";

const NAMESPACE = "cluster-migration";

type Tree = Record<string, unknown>;

/** Nothing but what has no default. */
const minimal = (): Tree => ({
  plan: "upgrade",
  stage: "inventory",
  cluster: { name: "prod", kubeconfig: "prod.yaml", context: "prod" },
  upgrade: {
    target: "v1.35.4",
    drill: { node: "worker-01" },
    etcd: { endpoints: ["https://10.0.10.11:2379"] },
    machine: { exec: ["ssh", "{node}"] },
  },
});

function parse(tree: Tree): ParsedConfig {
  const raw = Object.entries(tree)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]): [string, string] => [
      `${NAMESPACE}:${key}`,
      typeof value === "string" ? value : JSON.stringify(value),
    ]);
  return parseStackConfig(Object.fromEntries(raw), NAMESPACE);
}

/** Keys of a group, as a message about an unknown one lists them. */
function knownIn(tree: Tree): string[] {
  const parsed = parse(tree);
  const rule = parsed.ok
    ? ""
    : (parsed.problems.find((one) => one.code === "CONFIG-UNKNOWN-KEY")?.rule ?? "");
  return rule.replace("known here: ", "").split(", ");
}

/** Paths of all settings below a schema; a group is walked into, everything else is one setting. */
function leaves(schema: z.ZodType, at: string): string[] {
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodNullable
  )
    return leaves(schema.unwrap() as z.ZodType, at);
  if (!(schema instanceof z.ZodObject)) return [at];
  return Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([key, part]) =>
    leaves(part, `${at}.${key}`),
  );
}

interface Row {
  readonly key: string;
  readonly fallback: string;
  readonly example: string;
}

const TEXT = page("docs/upgrade.md");

const ROWS: readonly Row[] = [
  ...TEXT.matchAll(/^\| `([a-zA-Z.]+)` +\| [^|]+\| ([^|]+?) +\| `([^|]+)` +\| [^|]+\|$/gmu),
].map(([, key = "", fallback = "", example = ""]) => ({ key, fallback, example }));

/** Defaults too long for a cell stand below the table, as they would in a stack's config. */
const LONG = parseYaml(/```yaml\n(installKubeadm:[\s\S]*?)```/u.exec(TEXT)?.[1] ?? "") as Tree;

const valueAt = (tree: unknown, key: string): unknown =>
  key
    .split(".")
    .reduce<unknown>(
      (at, part) => (typeof at === "object" && at !== null ? (at as Tree)[part] : undefined),
      tree,
    );

function withValue(tree: Tree, [key = "", ...rest]: readonly string[], value: unknown): Tree {
  return { ...tree, [key]: rest.length === 0 ? value : withValue((tree[key] ?? {}) as Tree, rest, value) };
}

test("every key of the schema is in the page, and no other", () => {
  const top = knownIn({ ...minimal(), unheardOf: "x" });
  const cluster = knownIn({ ...minimal(), cluster: { unheardOf: "x" } }).map((key) => `cluster.${key}`);
  const keys = [
    ...top.filter((key) => key !== "cluster" && key !== "upgrade"),
    ...cluster,
    ...leaves(UpgradeConfig, "upgrade"),
  ];
  expect(keys.length).toBeGreaterThan(20);
  expect(ROWS.map((row) => row.key).sort()).toEqual(keys.sort());
});

describe.each(ROWS)("$key", ({ key, fallback, example }) => {
  test("has the default that the page gives", () => {
    const parsed = parse(minimal());
    if (!parsed.ok) throw new Error("the minimal config does not parse");
    if (fallback === "required") {
      expect(parse(withValue(minimal(), key.split("."), undefined)).ok).toBe(false);
      return;
    }
    const own = key.split(".").at(-1) ?? "";
    const wanted: unknown =
      fallback === "none"
        ? undefined
        : fallback === "below"
          ? LONG[own]
          : JSON.parse(fallback.replace(/^`|`$/gu, ""));
    expect(valueAt(parsed.config, key)).toEqual(wanted);
  });

  test("accepts the example that the page gives", () => {
    const parsed = parse(withValue(minimal(), key.split("."), JSON.parse(example)));
    expect(parsed).toMatchObject({ ok: true });
    if (parsed.ok) expect(valueAt(parsed.config, key)).toEqual(JSON.parse(example));
  });
});
