import { INPUT_VARIABLE } from "../../commands/document.ts";
import { isCommand } from "../documents.ts";
import { keysOf, read } from "../reading.ts";
import { undecided, violation, type Rule, type Verdict } from "../rule.ts";
import { isSecret } from "../secrets.ts";
import { secretIn, secretName } from "../secret-text.ts";
import type { ResourceView } from "../view.ts";

const TEXTS = ["create", "update", "delete", "stdin"] as const;

/** ConnectionArgs of @pulumi/command 1.2; a proxy has the same, without a proxy of its own. */
const CONNECTION: ReadonlySet<string> = new Set([
  "agentSocketPath",
  "dialErrorLimit",
  "host",
  "hostKey",
  "password",
  "perDialTimeout",
  "port",
  "privateKey",
  "privateKeyPassword",
  "proxy",
  "user",
]);
const CREDENTIALS = ["password", "privateKey", "privateKeyPassword"] as const;

/** Values of `logging` that keep the stream off the log. */
const SILENT = { stdout: ["none", "stderr"], stderr: ["none", "stdout"] } as const;

export const noSecretsInCommands: Rule = {
  name: "no-secrets-in-commands",
  demands:
    "No Command carries a key, token or password in plain text, and none prints what it declares secret.",
  why: "plain inputs and whatever a script prints stand in previews, logs and the state (pulumi/pulumi-command#773, #111, #260)",
  repair:
    "hand it over as a secret (`config.requireSecret`, `pulumi.secret`), or let the script read it from a file or a secret store",
  limits:
    "what the SDK itself makes secret looks secret to a policy: in Node.js the whole `connection` of a remote Command. And a provider that refuses a field may print it before any policy is asked",
  looksAtSecrets: true,
  resource: (one) => [
    ...(isCommand(one) ? [...texts(one), ...environment(one), ...printed(one)] : []),
    ...(one.type.startsWith("command:remote:")
      ? [...connection(one, ["connection"]), ...connection(one, ["connection", "proxy"])]
      : []),
  ],
};

function texts(one: ResourceView): Verdict[] {
  return TEXTS.flatMap((property) => plainText(one, [property]));
}

function environment(one: ResourceView): Verdict[] {
  return (
    keysOf(one, "environment")
      // Standard output of another command of this stack: it stands in the state already. Judged at `up`, when it is known.
      .filter((name) => name !== INPUT_VARIABLE || read(one, "environment", name).state === "known")
      .flatMap((name) => {
        const path = ["environment", name];
        const found = plainText(one, path);
        const reading = read(one, ...path);
        if (found.length > 0 || reading.state !== "known" || !secretName(name, reading.value)) return found;
        return plain(one, path, "a secret, by its name,");
      })
  );
}

function plainText(one: ResourceView, path: readonly string[]): Verdict[] {
  const reading = read(one, ...path);
  if (reading.state === "absent") return [];
  if (one.secrets !== null && isSecret(one.secrets, path)) return [];
  if (reading.state === "unknown") return [undecided(one, reading.property)];
  const kind = typeof reading.value === "string" ? secretIn(reading.value) : null;
  return kind === null ? [] : plain(one, path, kind);
}

/** The value itself is never told. */
function plain(one: ResourceView, path: readonly string[], kind: string): Verdict[] {
  const property = path.join(".");
  if (one.secrets === null)
    return [undecided(one, `${property} (looks like ${kind}: whether it is marked secret)`)];
  if (isSecret(one.secrets, path)) return [];
  return [violation(one, `'${one.name}' has what looks like ${kind} in plain text in \`${property}\``)];
}

function connection(one: ResourceView, path: readonly string[]): Verdict[] {
  const property = path.join(".");
  const keys = keysOf(one, ...path);
  if (keys.length === 0) {
    const reading = read(one, ...path);
    return reading.state === "unknown" ? [undecided(one, reading.property)] : [];
  }
  return [
    ...keys
      .filter((key) => !CONNECTION.has(key))
      .map((key) =>
        violation(
          one,
          `'${one.name}' has an unknown field \`${property}.${key}\`: the provider's complaint would print the whole connection, its key included`,
          `remove \`${property}.${key}\`; the fields are ${[...CONNECTION].join(", ")}`,
        ),
      ),
    ...CREDENTIALS.filter((key) => keys.includes(key)).flatMap((key) =>
      plain(one, [...path, key], `a credential`),
    ),
  ];
}

/** Marked secret in the state, printed while it runs all the same. */
function printed(one: ResourceView): Verdict[] {
  const secret = (["stdout", "stderr"] as const).filter((stream) =>
    one.opts.additionalSecretOutputs.includes(stream),
  );
  if (secret.length === 0) return [];
  const logging = read(one, "logging");
  if (logging.state === "unknown") return [undecided(one, logging.property)];
  const value = logging.state === "known" ? logging.value : "stdoutAndStderr";
  return secret
    .filter((stream) => !SILENT[stream].some((silent) => silent === value))
    .map((stream) =>
      violation(
        one,
        `'${one.name}' declares its ${stream} secret (additionalSecretOutputs), and prints it while it runs`,
        'set `logging: "none"`',
      ),
    );
}
