/** Runs rules over views as the engine would, and mutates a compliant program one fault at a time. */
import { migration } from "../../policies/packs.ts";
import { messageOf, type Rule, type Surroundings } from "../../policies/rule.ts";
import { StackView, type ResourceView } from "../../policies/view.ts";
import { raw, resource } from "./program.ts";

export interface Report {
  readonly rule: string;
  /** Name of the resource; empty for the stack itself. */
  readonly at: string;
  readonly message: string;
}

export function ruleNamed(name: string): Rule {
  const found = migration.members.find(({ rule }) => rule.name === name);
  if (found === undefined) throw new Error(`no rule ${name}`);
  return found.rule;
}

/** What a level of the pack reports on this stack. */
export function reports(
  views: readonly ResourceView[],
  level: "mandatory" | "advisory" = "mandatory",
  env: Surroundings["env"] = {},
): Report[] {
  return migration.members
    .filter((member) => member.level === level)
    .flatMap(({ rule }) => reportsOf(rule, views, env));
}

export function reportsOf(
  rule: Rule,
  views: readonly ResourceView[],
  env: Surroundings["env"] = {},
): Report[] {
  const verdicts = [
    ...views.flatMap((one) => rule.resource?.(one, { env }) ?? []),
    ...(rule.stack?.(new StackView(views), { env }) ?? []),
  ];
  return verdicts.flatMap((verdict) =>
    verdict.kind === "violation"
      ? [{ rule: rule.name, at: verdict.urn.split("::").at(-1) ?? "", message: messageOf(rule, verdict) }]
      : [],
  );
}

type Change = Partial<ResourceView> | ((one: ResourceView) => Partial<ResourceView>);

/** The custom resource of this name, changed; its component of the same name is left alone. */
export function change(views: readonly ResourceView[], name: string, to: Change): ResourceView[] {
  return changeWhere(views, (one) => one.name === name && (one.custom || one.type.startsWith("pulumi:")), to);
}

/** The component of this name: where the program's dependencies of commands stand. */
export function changeComponent(views: readonly ResourceView[], name: string, to: Change): ResourceView[] {
  return changeWhere(views, (one) => one.name === name && !one.custom, to);
}

function changeWhere(
  views: readonly ResourceView[],
  which: (one: ResourceView) => boolean,
  to: Change,
): ResourceView[] {
  if (!views.some(which)) throw new Error("there is nothing to change");
  return views.map((one) =>
    which(one)
      ? resource({ ...one, ...(typeof to === "function" ? to({ ...one, props: raw(one.props) }) : to) })
      : one,
  );
}

/** The document of a command, changed. */
export function changeDocument(
  views: readonly ResourceView[],
  name: string,
  to: (document: Record<string, unknown> & { spec: Record<string, unknown> }) => unknown,
): ResourceView[] {
  return change(views, name, (one) => {
    const document = JSON.parse(String(one.props["stdin"])) as { spec: Record<string, unknown> };
    return { props: { ...one.props, stdin: JSON.stringify(to(document)) } };
  });
}

/** The command no longer comes after resources whose name matches. */
export function cut(views: readonly ResourceView[], name: string, from: RegExp): ResourceView[] {
  const without = (urns: readonly string[]): string[] =>
    urns.filter((urn) => !from.test(urn.split("::").at(-1) ?? ""));
  return views.map((one) =>
    one.name === name
      ? resource({
          ...one,
          dependencies: without(one.dependencies),
          propertyDependencies: Object.fromEntries(
            Object.entries(one.propertyDependencies).map(([property, urns]) => [property, without(urns)]),
          ),
        })
      : one,
  );
}
