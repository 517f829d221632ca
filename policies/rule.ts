/** What a rule is: a pure judgement over a view of resources, and the words that go with it. Knows no pack. */
import type { ResourceView, StackView } from "./view.ts";

export interface Violation {
  readonly kind: "violation";
  readonly urn: string;
  /** What is wrong, the resource named. Never a value that could be secret. */
  readonly what: string;
  /** Where the rule's own repair is too general. */
  readonly repair?: string;
}

/** What the rule looks at is not known yet. Not passed: pulumi/pulumi-policy#258. */
export interface Undecided {
  readonly kind: "undecided";
  readonly urn: string;
  /** Path of the property that would have to be known. */
  readonly property: string;
}

export type Verdict = Violation | Undecided;

/** What a rule may look at besides resources. */
export interface Surroundings {
  /** Of the pack's process, which is the engine's own. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface Rule {
  /** Stable, kebab-case: exceptions and CI refer to it. */
  readonly name: string;
  /** What it demands, in one sentence. */
  readonly demands: string;
  /** What happens otherwise, with its source. */
  readonly why: string;
  /** What to do about it. */
  readonly repair: string;
  /** What it cannot see. */
  readonly limits?: string;
  /** Needs to know which inputs are secret; only for a mandatory rule on single resources (see adapter.ts). */
  readonly looksAtSecrets?: true;
  /**
   * Judges one resource by its inputs. The engine asks before it touches the resource, at preview and at `up`, so what is
   * refused here never runs, even by `up --skip-preview`. Dependencies are not known yet.
   */
  readonly resource?: (one: ResourceView, surroundings: Surroundings) => readonly Verdict[];
  /** Judges the whole stack. The engine asks at the end: of a preview, or of an `up`, when everything has run. */
  readonly stack?: (stack: StackView, surroundings: Surroundings) => readonly Verdict[];
}

export function violation(one: { readonly urn: string }, what: string, repair?: string): Violation {
  return { kind: "violation", urn: one.urn, what, ...(repair === undefined ? {} : { repair }) };
}

export function undecided(one: { readonly urn: string }, property: string): Undecided {
  return { kind: "undecided", urn: one.urn, property };
}

/** The message of a violation, as people read it in a preview. */
export function messageOf(rule: Rule, { what, repair = rule.repair }: Violation): string {
  return `${what}\n  why:    ${rule.why}\n  repair: ${repair}`;
}
