/** One case of one condition. */
import type { Demand } from "../../analysis/conditions/index.ts";
import type { World } from "../../analysis/conditions/world.ts";
import { inventory } from "../analysis/facts.ts";

export interface Case {
  readonly says: string;
  readonly demand: Demand;
  readonly world: World;
  /** Codes with severities; empty: it holds. */
  readonly finds: readonly string[];
  /** What the first message must name. */
  readonly names?: string;
}

export const world = (more: Parameters<typeof inventory>[0] = {}): World => ({ inventory: inventory(more) });
