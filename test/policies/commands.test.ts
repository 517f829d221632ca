/** Rules on single resources, of this program and of others. */
import { describe, expect, test } from "vitest";
import type { ResourceView } from "../../policies/view.ts";
import { reports } from "./judge.ts";
import { program, resource, UNKNOWN, urn } from "./program.ts";

const command = (
  name: string,
  props: Record<string, unknown>,
  more: Partial<ResourceView> = {},
): ResourceView => resource({ urn: urn("command:local:Command", name), props, ...more });

const remote = (connection: Record<string, unknown>, secrets: readonly string[] = []): ResourceView =>
  resource({
    urn: urn("command:remote:Command", "far"),
    props: { create: "true", connection },
    secrets: new Set(secrets),
  });

const opts = { protect: false, ignoreChanges: [], deleteBeforeReplace: false, additionalSecretOutputs: [] };

describe("gate-runs-again", () => {
  test.each([
    ["no triggers", {}],
    ["empty triggers", { triggers: [] }],
  ])("a gate of the program with %s", async (_, triggers) => {
    const views = await program("drain");
    const gate = views.find(({ name, custom }) => name === "drain-gate" && custom);
    const { stdin } = gate?.props as { stdin: string };
    expect(reports([command("anything", { stdin, ...triggers })]).map(({ rule }) => rule)).toContain(
      "gate-runs-again",
    );
    const again = reports([command("anything", { stdin, triggers: ["drain", 1] })]);
    expect(again.map(({ rule }) => rule)).not.toContain("gate-runs-again");
  });

  test("somebody else's check, known by its name", () => {
    expect(reports([command("verify-etcd-health", { create: "check-etcd", triggers: [] })])[0]).toMatchObject(
      {
        rule: "gate-runs-again",
        message: expect.stringContaining(
          "Command 'verify-etcd-health' is a gate or a check and has no triggers",
        ) as string,
      },
    );
    expect(
      reports([command("aggregate-logs", { create: "x" }), command("checkout", { create: "x" })]),
    ).toEqual([]);
  });

  test("triggers that are not known yet are triggers", () => {
    expect(reports([command("etcd-check", { triggers: [UNKNOWN] })])).toEqual([]);
  });
});

describe("no-reversing-delete", () => {
  const cordon = { create: "cordon old-1", delete: "uncordon old-1", triggers: ["stage-2"] };

  test("a delete script, also of a remote command", () => {
    expect(reports([command("cordon-old-1", cordon)]).map(({ rule }) => rule)).toEqual([
      "no-reversing-delete",
    ]);
    const far = resource({ urn: urn("command:remote:Command", "far"), props: cordon });
    expect(reports([far]).map(({ rule }) => rule)).toEqual(["no-reversing-delete"]);
  });

  test("none, an empty one, and one that runs first pass", () => {
    expect(reports([command("a", { create: "x" }), command("b", { create: "x", delete: "" })])).toEqual([]);
    expect(reports([command("c", cordon, { opts: { ...opts, deleteBeforeReplace: true } })])).toEqual([]);
  });

  test("one that is not known yet is not decided", () => {
    const unknown = [command("d", { create: "x", delete: UNKNOWN })];
    expect(reports(unknown)).toEqual([]);
    expect(reports(unknown, "advisory").map(({ message }) => message.split("\n")[0])).toEqual([
      "not decided: no-reversing-delete at 'd': `delete` is not known yet",
      "not decided: no-secrets-in-commands at 'd': `delete` is not known yet",
    ]);
  });
});

describe("no-delete-unreachable", () => {
  const provider = (props: Record<string, unknown>): ResourceView =>
    resource({ urn: urn("pulumi:providers:kubernetes", "cluster"), custom: false, props });

  test.each([true, "true"])("deleteUnreachable: %j", (deleteUnreachable) => {
    expect(reports([provider({ deleteUnreachable })]).map(({ rule }) => rule)).toEqual([
      "no-delete-unreachable",
    ]);
  });

  test("the environment variable", () => {
    const env = { PULUMI_K8S_DELETE_UNREACHABLE: "true" };
    const found = reports([provider({ deleteUnreachable: "false" })], "mandatory", env);
    expect(found[0]?.message).toContain("repair: unset PULUMI_K8S_DELETE_UNREACHABLE");
  });

  test.each([{}, { deleteUnreachable: "false" }])("%j passes", (props) => {
    expect(reports([provider(props)])).toEqual([]);
  });
});

/** Never to be seen in a message. */
const MARKER = "hunter2-marker-99";
const PEM = `-----BEGIN OPENSSH PRIVATE KEY-----\n${MARKER}\n-----END OPENSSH PRIVATE KEY-----`;

describe("no-secrets-in-commands", () => {
  test.each<[string, Record<string, unknown>]>([
    ["create", { create: `mysql --password=${MARKER}` }],
    ["update", { update: `curl -H 'Authorization: Bearer ${MARKER}'` }],
    ["delete", { delete: `curl https://admin:${MARKER}@example.com/` }],
    ["stdin", { stdin: PEM }],
    ["stdin", { stdin: Buffer.from(PEM).toString("base64") }],
    ["stdin", { stdin: JSON.stringify({ clientSecret: MARKER }) }],
    ["create", { create: "kubeadm join 192.0.2.1:6443 --token abcdef.0123456789abcdef" }],
    ["create", { create: `kubectl create secret generic db --from-literal=password=${MARKER}` }],
    ["environment.AWS_SECRET_ACCESS_KEY", { environment: { AWS_SECRET_ACCESS_KEY: MARKER } }],
    ["environment.DB_PASSWORD", { environment: { DB_PASSWORD: MARKER } }],
    ["environment.X", { environment: { X: PEM } }],
  ])("a secret in plain text in %s: told, never shown", (property, props) => {
    const found = reports([command("leaky", props, { opts: { ...opts, deleteBeforeReplace: true } })]);
    expect(found.map(({ rule }) => rule)).toEqual(["no-secrets-in-commands"]);
    expect(found[0]?.message).toContain(`in plain text in \`${property}\``);
    expect(JSON.stringify(found)).not.toContain(MARKER);
    const marked = command("leaky", props, {
      opts: { ...opts, deleteBeforeReplace: true },
      secrets: new Set([property]),
    });
    expect(reports([marked])).toEqual([]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["a variable", { create: 'mysql --password="$DB_PASSWORD"' }],
    ["a file", { create: "kubeadm join --token-file /run/token", environment: { TOKEN_FILE: "/run/token" } }],
    [
      "a path of a key",
      { stdin: JSON.stringify({ key: "cluster/pki/etcd/client.key", cert: "client.crt" }) },
    ],
    ["a certificate", { stdin: Buffer.from("-----BEGIN CERTIFICATE-----\nabc").toString("base64") }],
    ["a placeholder", { create: "login --password <password>" }],
    ["a sentence", { create: "echo the token expires tomorrow, the password is unchanged" }],
    ["a digest", { stdin: JSON.stringify({ sha256: "f".repeat(64) }) }],
  ])("%s is no secret", (_, props) => {
    expect(reports([command("fine", props)])).toEqual([]);
  });

  test("whether it is marked secret is not known: not decided", () => {
    const views = [command("leaky", { create: `x --password=${MARKER}` }, { secrets: null })];
    expect(reports(views)).toEqual([]);
    const advice = reports(views, "advisory");
    expect(advice[0]?.message).toContain(
      "not decided: no-secrets-in-commands at 'leaky': `create (looks like a password",
    );
    expect(JSON.stringify(advice)).not.toContain(MARKER);
  });

  test("credentials of a connection, and fields it does not have", () => {
    expect(reports([remote({ host: "192.0.2.9", privateKey: MARKER })])[0]?.message).toContain(
      "plain text in `connection.privateKey`",
    );
    const secret = ["connection.privateKey"];
    expect(reports([remote({ host: "192.0.2.9", privateKey: MARKER }, secret)])).toEqual([]);
    expect(reports([remote({ host: "192.0.2.9", privateKey: MARKER }, ["connection"])])).toEqual([]);
    const stray = reports([remote({ host: "192.0.2.9", privateKey: MARKER, note: "typo-field" }, secret)]);
    expect(stray[0]?.message).toContain("unknown field `connection.note`");
    expect(JSON.stringify(stray)).not.toContain("typo-field");
    const proxied = reports([remote({ host: "192.0.2.9", proxy: { host: "192.0.2.8", password: MARKER } })]);
    expect(proxied[0]?.message).toContain("`connection.proxy.password`");
  });

  test("a connection is read although a part of it is not known yet", () => {
    const found = reports([remote({ host: UNKNOWN, note: "x", privateKey: MARKER })]);
    expect(found.map(({ message }) => /`[^`]+`/.exec(message)?.[0])).toEqual([
      "`connection.note`",
      "`connection.privateKey`",
    ]);
  });

  test.each([
    [["stdout"], undefined, 1],
    [["stdout"], "stdout", 1],
    [["stdout"], "stderr", 0],
    [["stdout", "stderr"], "stderr", 1],
    [["stdout", "stderr"], "none", 0],
    [[], undefined, 0],
  ])("secret outputs %j with logging %s", (additionalSecretOutputs, logging, count) => {
    const props = { create: "print-join-token", ...(logging === undefined ? {} : { logging }) };
    expect(reports([command("join", props, { opts: { ...opts, additionalSecretOutputs } })])).toHaveLength(
      count,
    );
  });

  test("a long text takes no long time", () => {
    const started = performance.now();
    reports([
      command("big", { stdin: "a".repeat(500_000) }),
      command("words", { stdin: "token".repeat(50_000) }),
    ]);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});
