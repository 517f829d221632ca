import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { check, commandInputs, runInputs } from "../../lab/plugins/command/check.ts";
import { diff, headOf } from "../../lab/plugins/command/diff.ts";
import {
  assetSignature,
  deepEqual,
  reveal,
  secretSignature,
  signatureKey,
  unknownString,
} from "../../lab/plugins/command/values.ts";

const secret = (value: unknown): Record<string, unknown> => ({ [signatureKey]: secretSignature, value });
const asset = (hash: string): Record<string, unknown> => ({
  [signatureKey]: assetSignature,
  hash,
  path: "x",
});

describe("check", () => {
  test("takes every documented input", () => {
    const inputs = {
      create: "a",
      update: "b",
      delete: "c",
      stdin: "d",
      logging: "none",
      interpreter: ["/bin/sh"],
      dir: "/",
      environment: { A: "1" },
      assetPaths: ["*"],
      archivePaths: ["*"],
      addPreviousOutputInEnv: false,
      triggers: [1, "x", { a: true }],
      __defaults: [],
    };
    expect(check(inputs, commandInputs)).toEqual([]);
  });

  test("names each bad property, all at once", () => {
    const failures = check(
      { creat: "x", create: 5, environment: { A: 1 }, interpreter: ["sh", 2], triggers: "x" },
      commandInputs,
    );
    expect(failures.map((f) => f.property)).toEqual([
      "creat",
      "create",
      "environment[A]",
      "interpreter[1]",
      "triggers",
    ]);
    expect(failures[0]?.reason).toBe("Unrecognized field 'creat' on 'local.CommandInputs'");
    expect(failures[1]?.reason).toContain("must be a 'string'; got 'float64'");
  });

  test("looks into secrets and lets unknowns pass", () => {
    expect(check({ create: secret("x"), stdin: unknownString }, commandInputs)).toEqual([]);
    expect(check({ environment: secret({ A: secret(1) }) }, commandInputs)).toMatchObject([
      { property: "environment[A]" },
    ]);
  });

  test("asks the function for its command", () => {
    expect(check({}, runInputs)).toMatchObject([{ property: "command" }]);
    expect(check({ create: "x", command: "y" }, runInputs)).toMatchObject([{ property: "create" }]);
  });
});

describe("diff", () => {
  test("the whole of triggers replaces, one of them is an update that the SDK's option turns into a replacement", () => {
    expect([...diff({}, { triggers: [1] })]).toEqual([["triggers", "addReplace"]]);
    expect([...diff({ triggers: [1] }, {})]).toEqual([["triggers", "deleteReplace"]]);
    expect([...diff({ triggers: [1, 2] }, { triggers: [1, 3, 4] })]).toEqual([
      ["triggers[1]", "update"],
      ["triggers[2]", "add"],
    ]);
  });

  test("other inputs are updated in place", () => {
    expect([
      ...diff(
        { create: "a", environment: { A: "1", "b.c": "1" } },
        { create: "b", environment: { A: "1", "b.c": "2" } },
      ),
    ]).toEqual([
      ["create", "update"],
      ['environment["b.c"]', "update"],
    ]);
  });

  test("a value that becomes secret, or unknown, has changed", () => {
    expect([...diff({ stdin: "a" }, { stdin: secret("a") })]).toEqual([["stdin", "update"]]);
    expect([...diff({ stdin: "a" }, { stdin: unknownString })]).toEqual([["stdin", "update"]]);
    expect([...diff({ stdin: secret("a") }, { stdin: secret("a") })]).toEqual([]);
  });

  test("files are the same by their hash, not by their path", () => {
    const moved = { ...asset("h1"), path: "elsewhere" };
    expect(diff({ triggers: [asset("h1")] }, { triggers: [moved] }).size).toBe(0);
    expect([...diff({ triggers: [asset("h1")] }, { triggers: [asset("h2")] })]).toEqual([
      ["triggers[0]", "update"],
    ]);
  });

  test("the engine's own inputs do not count", () => {
    expect(diff({ version: "1" }, { version: "2", __x: 1 }).size).toBe(0);
  });

  test("nothing changes against itself, and swapping the sides swaps add and delete", () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        fc.string(),
        fc.boolean(),
        fc.double({ noNaN: true }),
        fc.array(tie("any")),
        fc.dictionary(fc.string({ minLength: 1 }), tie("any")),
      ),
    })).any;
    const properties = fc.dictionary(fc.constantFrom("create", "stdin", "environment", "triggers"), value);
    fc.assert(
      fc.property(properties, properties, (a, b) => {
        expect(diff(a, a).size).toBe(0);
        const there = diff(a, b);
        const back = diff(b, a);
        expect([...back.keys()].sort()).toEqual([...there.keys()].sort());
        for (const [path, kind] of there) {
          const mirrored = kind.startsWith("add")
            ? kind.replace("add", "delete")
            : kind.replace("delete", "add");
          expect(back.get(path)).toBe(mirrored);
          expect(["create", "stdin", "environment", "triggers"]).toContain(headOf(path));
        }
        expect(there.size === 0).toBe(deepEqual(a, b));
      }),
    );
  });
});

test("reveal opens nested secrets", () => {
  expect(reveal({ a: secret({ b: [secret(1)] }) })).toEqual({ a: { b: [1] } });
});
