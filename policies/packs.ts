/** Which rules are in a pack, and how hard each is. Pinned by test/policies/packs.test.ts. */
import type { Rule } from "./rule.ts";
import { batchAfterVerified } from "./rules/batch-after-verified.ts";
import { budgetProtects, drainNeedsBudget } from "./rules/drain-needs-budget.ts";
import { gateRunsAgain } from "./rules/gate-runs-again.ts";
import { irreversibleNeedsSnapshot } from "./rules/irreversible-needs-snapshot.ts";
import { noDeleteUnreachable } from "./rules/no-delete-unreachable.ts";
import { noEmptyBarrier, noEmptyComponent } from "./rules/no-empty-barrier.ts";
import { noReversingDelete } from "./rules/no-reversing-delete.ts";
import { noSecretsInCommands } from "./rules/no-secrets-in-commands.ts";
import { notDecided } from "./rules/not-decided.ts";
import { oneCanary } from "./rules/one-canary.ts";
import { oneMinorAtATime, targetIsARelease } from "./rules/one-minor-at-a-time.ts";
import { recordIsProtected } from "./rules/record-is-protected.ts";
import { workAfterGate } from "./rules/work-after-gate.ts";

/** A mandatory rule fails the preview; an advisory one only says so. */
export type Level = "mandatory" | "advisory";

export interface Member {
  readonly rule: Rule;
  readonly level: Level;
}

export interface Pack {
  readonly name: string;
  readonly members: readonly Member[];
}

const mandatory: readonly Rule[] = [
  irreversibleNeedsSnapshot,
  workAfterGate,
  drainNeedsBudget,
  oneCanary,
  batchAfterVerified,
  oneMinorAtATime,
  gateRunsAgain,
  noReversingDelete,
  noSecretsInCommands,
  noEmptyBarrier,
  noDeleteUnreachable,
  recordIsProtected,
];

const advisory: readonly Rule[] = [targetIsARelease, budgetProtects, noEmptyComponent, notDecided(mandatory)];

/** For every plan of this project. */
export const migration: Pack = {
  name: "migration",
  members: [
    ...mandatory.map((rule): Member => ({ rule, level: "mandatory" })),
    ...advisory.map((rule): Member => ({ rule, level: "advisory" })),
  ],
};
