/** The whole config of a stack: which plan, which stage, which cluster, and the plan's own settings. */
import { z } from "zod";
import type { Finding } from "../analysis/finding.ts";
import { parseStrict, show, unknownKey } from "./problems.ts";
import { FilePath, ruled } from "./scalars.ts";
import { UpgradeConfig } from "./upgrade.ts";

const PLANS = ["upgrade"] as const;
export type PlanName = (typeof PLANS)[number];

const Cluster = z.strictObject({
  /** How people call it. Also the Kubernetes provider's cluster identifier, so that a moved endpoint replaces nothing. */
  name: ruled(
    z.string().regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/),
    "a short name of a-z, 0-9 and '-'",
    "name the cluster",
  ),
  kubeconfig: FilePath,
  context: ruled(
    z.string().min(1),
    "the name of a context in the kubeconfig: never the current one by chance",
    "see `kubectl config get-contexts -o name`",
  ),
});
export type ClusterConfig = z.output<typeof Cluster>;

const Common = z.strictObject({
  plan: ruled(z.enum(PLANS), `one of: ${PLANS.join(", ")}`, "name the plan of this stack"),
  stage: ruled(
    z.string().min(1),
    "the name of a stage of the plan",
    "a new stack begins with the plan's first stage",
  ),
  cluster: Cluster,
  /** Where artefacts and evidence go. */
  out: FilePath.default("out"),
  upgrade: UpgradeConfig.optional(),
});

export interface StackConfig {
  readonly plan: PlanName;
  readonly stage: string;
  readonly cluster: ClusterConfig;
  readonly out: string;
  readonly upgrade: UpgradeConfig;
}

export type ParsedConfig =
  | { readonly ok: true; readonly config: StackConfig }
  | { readonly ok: false; readonly problems: readonly Finding[] };

/** Keys whose value is an object: the engine hands them over as JSON. */
const OBJECTS: ReadonlySet<string> = new Set(["cluster", "upgrade"]);

/**
 * Parses the stack's config as the engine hands it over.
 * @param raw   all config of the stack, `namespace:key` to text (objects as JSON)
 * @param namespace  the project's name; other namespaces belong to providers and are left alone
 * @param secrets  full keys of what is encrypted: it is refused, and never shown
 */
export function parseStackConfig(
  raw: Readonly<Record<string, string>>,
  namespace: string,
  secrets: readonly string[] = [],
): ParsedConfig {
  const input: Record<string, unknown> = {};
  const problems: Finding[] = [];
  for (const [fullKey, text] of Object.entries(raw)) {
    const colon = fullKey.indexOf(":");
    if (fullKey.slice(0, colon) !== namespace) continue;
    const key = fullKey.slice(colon + 1);
    if (!Object.hasOwn(Common.shape, key)) problems.push(unknownKey(fullKey, key, Object.keys(Common.shape)));
    else if (secrets.includes(fullKey)) problems.push(isSecret(fullKey));
    else if (OBJECTS.has(key)) {
      const value = parseJson(text);
      if (value === undefined) problems.push(notAnObject(fullKey, text));
      else input[key] = value;
    } else input[key] = text;
  }
  const broken = new Set(problems.map((problem) => problem.subject));
  const parsed = parseStrict(Common, input, "");
  if (!parsed.ok) {
    problems.push(
      ...parsed.problems
        .map((problem) => ({ ...problem, subject: `${namespace}:${problem.subject}` }))
        .filter((problem) => !broken.has(problem.subject)),
    );
  }
  // The plan's own settings are needed even where something else is wrong: all problems at once.
  if (input["plan"] === "upgrade" && input["upgrade"] === undefined && !broken.has(`${namespace}:upgrade`)) {
    problems.push({
      code: "CONFIG-MISSING",
      severity: "refuse",
      subject: `${namespace}:upgrade`,
      message: "is not given",
      rule: "the settings of the plan that the stack names",
      repair: "see docs/upgrade.md for a complete example",
    });
  }
  if (problems.length > 0 || !parsed.ok || parsed.value.upgrade === undefined) return { ok: false, problems };
  return { ok: true, config: { ...parsed.value, upgrade: parsed.value.upgrade } };
}

/** Commands get their settings in plain, so that preview and review can show them: no place for a secret. */
function isSecret(subject: string): Finding {
  return {
    code: "CONFIG-SECRET",
    severity: "refuse",
    subject,
    message: "is encrypted, or a part of it is",
    rule: "settings are shown in previews, the stack's state and evidence, in plain: none of them may be a secret",
    repair:
      "name a file that holds the secret (as for kubeconfig and keys), and set the rest without --secret",
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function notAnObject(subject: string, text: string): Finding {
  return {
    code: "CONFIG-VALUE",
    severity: "refuse",
    subject,
    message: `${show(text)} is not an object`,
    rule: "a group of settings",
    repair: `set its parts: pulumi config set --path '${subject.slice(subject.indexOf(":") + 1)}.NAME' VALUE`,
  };
}
