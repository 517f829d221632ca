/** Label selectors as Kubernetes matches them (`LabelSelectorAsSelector` in apimachinery's meta/v1). */

import type { LabelSelector, SelectorRequirement } from "./inventory.ts";

type Labels = Readonly<Record<string, string>>;

/** Null selects nothing, an empty selector everything; all terms must hold. */
export function matchesSelector(selector: LabelSelector | null, labels: Labels): boolean {
  if (selector === null) return false;
  return (
    Object.entries(selector.matchLabels).every(([key, value]) => valueOf(labels, key) === value) &&
    selector.matchExpressions.every((requirement) => matchesRequirement(requirement, labels))
  );
}

/** `NotIn` and `DoesNotExist` hold for objects that don't have the label at all. */
export function matchesRequirement({ key, operator, values }: SelectorRequirement, labels: Labels): boolean {
  const value = valueOf(labels, key);
  switch (operator) {
    case "In":
      return value !== undefined && values.includes(value);
    case "NotIn":
      return value === undefined || !values.includes(value);
    case "Exists":
      return value !== undefined;
    case "DoesNotExist":
      return value === undefined;
  }
}

/** The label pairs of which an object must have one to be selected; null when other objects can be selected too. */
export function requiredPairs(selector: LabelSelector): readonly (readonly [string, string])[] | null {
  const first = Object.entries(selector.matchLabels)[0];
  if (first !== undefined) return [first];
  const within = selector.matchExpressions.find(({ operator }) => operator === "In");
  return within === undefined ? null : within.values.map((value) => [within.key, value] as const);
}

/** For messages, in the notation of `kubectl -l`: `app=web,tier in (a,b),!old`. */
export function selectorText(selector: LabelSelector | null): string {
  if (selector === null) return "no selector";
  const terms = [
    ...Object.entries(selector.matchLabels).map(([key, value]) => `${key}=${value}`),
    ...selector.matchExpressions.map(({ key, operator, values }) => {
      if (operator === "Exists") return key;
      if (operator === "DoesNotExist") return `!${key}`;
      return `${key} ${operator === "In" ? "in" : "notin"} (${values.join(",")})`;
    }),
  ];
  return terms.length === 0 ? "every pod" : terms.join(",");
}

/** A label named `constructor` must not be found on an object that has no such label. */
const valueOf = (labels: Labels, key: string): string | undefined =>
  Object.hasOwn(labels, key) ? labels[key] : undefined;
