/** Unknown values, on their way from the engine to a message. */
import { Secret } from "@pulumi/policy";
import type { PolicyResource, ResourceValidationArgs } from "@pulumi/policy";
import { describe, expect, test } from "vitest";
import { toPolicies } from "../../policies/adapter.ts";
import { migration } from "../../policies/packs.ts";
import { keysOf, read, readText } from "../../policies/reading.ts";
import { violation, type Rule } from "../../policies/rule.ts";
import { change, reports } from "./judge.ts";
import { program, raw, resource, UNKNOWN, urn } from "./program.ts";

describe("reading", () => {
  const one = resource({
    urn: urn("a:b:C", "one"),
    props: { text: "x", none: null, deep: { list: [1, { far: UNKNOWN }], known: true }, late: UNKNOWN },
  });

  test.each<[string[], unknown]>([
    [["text"], { state: "known", value: "x" }],
    [["none"], { state: "absent" }],
    [["nothing", "below"], { state: "absent" }],
    [["text", "below"], { state: "absent" }],
    [["deep", "known"], { state: "known", value: true }],
    [["late"], { state: "unknown", property: "late" }],
    [["late", "below"], { state: "unknown", property: "late" }],
    [["deep"], { state: "unknown", property: "deep.list.1.far" }],
  ])("%j", (path, reading) => {
    expect(read(one, ...path)).toEqual(reading);
  });

  test("names are known where values are not", () => {
    expect(keysOf(one)).toEqual(["text", "none", "deep", "late"]);
    expect(keysOf(one, "late")).toEqual([]);
    expect(readText(one, "deep", "known").text).toBeNull();
  });
});

describe("documents", () => {
  test("one that is not known is said, rule by rule, and hides no fault of another", async () => {
    const unknown = change(await program("canary"), "canary-upgrade-nodes", (one) => ({
      props: { ...one.props, stdin: UNKNOWN },
    }));
    expect(reports(unknown)).toEqual([]);
    const said = reports(unknown, "advisory").map(({ message }) => message.split("\n")[0]);
    for (const rule of [
      "irreversible-needs-snapshot",
      "work-after-gate",
      "one-canary",
      "batch-after-verified",
    ]) {
      expect(said).toContain(`not decided: ${rule} at 'canary-upgrade-nodes': \`stdin\` is not known yet`);
    }
    const faulty = change(unknown, "canary-gate", { props: {} });
    expect(reports(faulty).map(({ rule }) => rule)).toContain("work-after-gate");
  });

  test("one that cannot be read is a fault, unless it ran long ago", async () => {
    const views = await program("canary");
    const garbled = change(views, "canary-snapshot", (one) => ({ props: { ...one.props, stdin: "{}" } }));
    expect(reports(garbled).map(({ message }) => message.split(":")[0])).toContain(
      "command 'canary-snapshot' has no document on its standard input",
    );
    const old = change(views, "cordon-cordon", (one) => ({
      props: { ...one.props, stdin: '{"command":"cordon"}' },
    }));
    expect(reports(old)).toEqual([]);
  });
});

describe("between rules and the engine", () => {
  const said = (rule: Rule, level: "mandatory" | "advisory" = "mandatory") => {
    const messages: [string, string | undefined][] = [];
    const [policy] = toPolicies({ name: "p", members: [{ rule, level }] }, {});
    const args = { type: "a:b:C", urn: "u", name: "n", props: {}, opts: { parent: "p" } } as unknown;
    const report = (message: string, at?: string) => {
      messages.push([message, at]);
    };
    if (policy === undefined) throw new Error("no policy");
    if ("validateResource" in policy && typeof policy.validateResource === "function")
      void policy.validateResource(args as ResourceValidationArgs, report);
    if ("validateStack" in policy)
      void policy.validateStack({ resources: [] as PolicyResource[] } as never, report);
    return { policy, messages };
  };
  const rule: Rule = { name: "some-rule", demands: "It is so.", why: "of this", repair: "do that" };

  test("a violation carries what, why and the repair, and its resource", () => {
    const { messages } = said({ ...rule, stack: () => [violation({ urn: "u" }, "it is not so")] });
    expect(messages).toEqual([["it is not so\n  why:    of this\n  repair: do that", "u"]]);
    const own = said({ ...rule, resource: (one) => [violation(one, "no", "do this instead")] });
    expect(own.messages).toEqual([["no\n  why:    of this\n  repair: do this instead", "u"]]);
  });

  test("what is not decided is not reported by the rule itself", () => {
    const open: Rule = { ...rule, stack: () => [{ kind: "undecided", urn: "u", property: "p" }] };
    expect(said(open).messages).toEqual([]);
  });

  test("a rule that breaks is a violation, and quotes nothing that it read", () => {
    const { messages } = said({
      ...rule,
      stack: () => {
        throw new TypeError("cannot read hunter2");
      },
    });
    expect(messages[0]?.[0]).toMatch(/^the rule itself failed \(TypeError at .*\): nothing was decided/);
    expect(messages[0]?.[0]).not.toContain("hunter2");
  });

  test("only the rule that looks at secrets is served as a remediation, which changes nothing", () => {
    const policies = toPolicies(migration, {});
    const remediating = policies.filter((policy) => policy.enforcementLevel === "remediate");
    expect(remediating.map(({ name }) => name)).toEqual(["no-secrets-in-commands"]);
    const [only] = remediating;
    if (only === undefined || !("remediateResource" in only)) throw new Error("no remediation");
    const props = resource({ urn: "u", props: { create: new Secret("x") } }).props;
    expect(only.remediateResource({ urn: "u", props } as ResourceValidationArgs)).toBeUndefined();
    expect(raw(props)).toEqual({ create: new Secret("x") });
  });
});
