/** Between rules and the engine: @pulumi/policy in, views out; verdicts in, reports out. */
import {
  Secret,
  type PolicyResource,
  type ReportViolation,
  type ResourceValidationArgs,
  type ResourceValidationPolicy,
  type StackValidationPolicy,
} from "@pulumi/policy";
import type { Member, Pack } from "./packs.ts";
import { isRecord } from "./reading.ts";
import { messageOf, type Surroundings, type Verdict } from "./rule.ts";
import type { SecretPaths } from "./secrets.ts";
import { StackView, type ResourceView } from "./view.ts";

type Policy = ResourceValidationPolicy | StackValidationPolicy;

export function toPolicies({ members }: Pack, env: Surroundings["env"]): Policy[] {
  const told = new Told();
  return members.map((member) => toPolicy(member, { env }, told));
}

function toPolicy({ rule, level }: Member, surroundings: Surroundings, told: Told): Policy {
  const { resource, stack } = rule;
  const report = (judge: () => readonly Verdict[], say: ReportViolation): void => {
    for (const verdict of judged(judge)) {
      if (verdict.kind === "failed") say(verdict.message);
      else if (verdict.kind === "violation")
        say(messageOf(rule, verdict), verdict.urn === "" ? undefined : verdict.urn);
    }
  };
  return {
    name: rule.name,
    description: rule.demands,
    enforcementLevel: level,
    ...(resource !== undefined && {
      // Secrets reach validations unwrapped. They can be told from plain text only where a remediation sees them, which the
      // engine asks for first, of policies of this level; none is made. A violation then counts as mandatory.
      ...(rule.looksAtSecrets === true && {
        enforcementLevel: "remediate" as const,
        remediateResource: (args: ResourceValidationArgs): undefined => {
          told.secrets(args.urn, args.props);
        },
      }),
      validateResource: (args: ResourceValidationArgs, say: ReportViolation) => {
        report(() => resource(told.viewOfInputs(args), surroundings), say);
      },
    }),
    ...(stack !== undefined && {
      validateStack: ({ resources }: { resources: PolicyResource[] }, say: ReportViolation) => {
        report(() => stack(new StackView(resources.map((one) => told.view(one))), surroundings), say);
      },
    }),
  };
}

type Judged = Verdict | { readonly kind: "failed"; readonly message: string };

/** A rule that breaks counts as broken, never as kept. An error's message is not told: it may quote a secret. */
function judged(judge: () => readonly Verdict[]): readonly Judged[] {
  try {
    return judge();
  } catch (error) {
    const place = error instanceof Error ? (/\n\s+at (.*)/.exec(error.stack ?? "")?.[1] ?? "") : "";
    const name = error instanceof Error ? error.name : typeof error;
    return [
      {
        kind: "failed",
        message: `the rule itself failed (${name} at ${place}): nothing was decided. Please report it`,
      },
    ];
  }
}

/** What the engine has told of resources so far, call by call. */
class Told {
  readonly #secrets = new Map<string, SecretPaths>();

  secrets(urn: string, props: unknown): void {
    const paths = new Set<string>();
    // A future @pulumi/policy may hide its raw values: then secretness is not decided, which is said.
    if (isRecord(props) && unwrapped(props) !== props) {
      collect(unwrapped(props), [], paths);
      this.#secrets.set(urn, paths);
    }
  }

  viewOfInputs(args: ResourceValidationArgs): ResourceView {
    const { parent } = args.opts;
    return this.#view(args, { parent: parent ?? null, dependencies: [], propertyDependencies: {} });
  }

  view(one: PolicyResource): ResourceView {
    const urns = (list: readonly PolicyResource[]): string[] => list.map(({ urn }) => urn);
    return this.#view(one, {
      parent: one.parent?.urn ?? null,
      dependencies: urns(one.dependencies),
      propertyDependencies: Object.fromEntries(
        Object.entries(one.propertyDependencies).map(([property, list]) => [property, urns(list)]),
      ),
    });
  }

  #view(
    { urn, type, name, props, opts, provider }: PolicyResource | ResourceValidationArgs,
    place: Pick<ResourceView, "parent" | "dependencies" | "propertyDependencies">,
  ): ResourceView {
    return {
      urn,
      type,
      name,
      custom: provider !== undefined,
      props,
      opts: {
        protect: opts.protect,
        ignoreChanges: opts.ignoreChanges,
        deleteBeforeReplace: opts.deleteBeforeReplace ?? false,
        additionalSecretOutputs: opts.additionalSecretOutputs,
      },
      ...place,
      secrets: this.#secrets.get(urn) ?? null,
    };
  }
}

/** The value behind the proxies of @pulumi/policy (proxy.js, secret.js), which answer to these names. */
function unwrapped(value: unknown): unknown {
  let inner = value;
  while (isProxied(inner)) inner = inner.__getSpecialProxyTarget;
  return inner;
}

function isProxied(value: unknown): value is { readonly __getSpecialProxyTarget: unknown } {
  return isRecord(value) && value["__isSpecialProxy"] === true;
}

function collect(value: unknown, path: readonly string[], paths: Set<string>): void {
  if (value instanceof Secret) paths.add(path.join("."));
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) collect(item, [...path, String(index)], paths);
  } else if (isRecord(value)) {
    for (const [key, item] of Object.entries(value)) collect(item, [...path, key], paths);
  }
}
