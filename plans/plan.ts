/** What a plan gives to the frame that all plans share. */
import type { Inventory } from "../analysis/inventory.ts";
import type { Requirement } from "../analysis/conditions/index.ts";
import type { Finding } from "../analysis/finding.ts";
import type { StackConfig } from "../config/stack.ts";
import type { CarriedFacts } from "./facts.ts";
import type { FrameArgs, StageFrame } from "./frame.ts";
import type { Stage } from "./stage.ts";

export interface Plan {
  readonly stages: readonly Stage[];
  /** How gates and checks are believed. */
  readonly verify: FrameArgs["verify"];
  readonly etcd?: Readonly<Record<string, unknown>>;
  /** Declares what a stage adds: resources that stand from this stage on, and the commands that run in it. */
  readonly compose: (frame: StageFrame) => void;
  /**
   * Declares the commands that undo a stage on the way back to `target`. Resources need none: they go when the program
   * no longer declares them.
   */
  readonly undo: (frame: StageFrame, target: Stage) => void;
  /** What must be true before those commands run. */
  readonly undoDemands: (undone: Stage, target: Stage) => readonly Requirement[];
  /** What the commands of a stage will do, for preview: lines for people. */
  readonly foresee: (stage: Stage, inventory: Inventory) => readonly string[];
}

export type PlanResult =
  { readonly ok: true; readonly plan: Plan } | { readonly ok: false; readonly problems: readonly Finding[] };

/** Makes the plan for one cluster, or says everything that is wrong with its config there. */
export type PlanMaker = (config: StackConfig, facts: CarriedFacts) => PlanResult;
