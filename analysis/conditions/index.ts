/**
 * Every condition that a gate or a check can demand, by name. Pure: the program judges them at preview, the gate and
 * check commands judge them against the live cluster, by this one function.
 */
import type { z } from "zod";
import type { Finding } from "../finding.ts";
import { artefact } from "./artefact.ts";
import { drainAllowed, nodeEmpty } from "./drains.ts";
import { etcdHealthy } from "./etcd.ts";
import { cordoned, kubeletVersion, nodesExist, nodesLabelled, nodesReady, onlyCordoned } from "./nodes.ts";
import { controlPlaneVersion, nodesAsReviewed, skewSupported, upgradePath } from "./versions.ts";
import { budgetPresent, budgetsHealthy, namespaceOwn, workloadReady, workloadsReady } from "./workloads.ts";
import { NOT_DECIDED, type Condition, type World } from "./world.ts";

export const CONDITIONS = {
  artefact,
  "budget-present": budgetPresent,
  "budgets-healthy": budgetsHealthy,
  "control-plane-version": controlPlaneVersion,
  cordoned,
  "drain-allowed": drainAllowed,
  "etcd-healthy": etcdHealthy,
  "kubelet-version": kubeletVersion,
  "namespace-own": namespaceOwn,
  "node-empty": nodeEmpty,
  "nodes-as-reviewed": nodesAsReviewed,
  "nodes-exist": nodesExist,
  "nodes-labelled": nodesLabelled,
  "nodes-ready": nodesReady,
  "only-cordoned": onlyCordoned,
  "skew-supported": skewSupported,
  "upgrade-path": upgradePath,
  "workload-ready": workloadReady,
  "workloads-ready": workloadsReady,
} as const;

export type ConditionName = keyof typeof CONDITIONS;

/** A condition with its parameters filled in, of the right type for its name. */
export type Demand = {
  [Name in ConditionName]: {
    readonly condition: Name;
    readonly with: z.input<(typeof CONDITIONS)[Name]["params"]>;
  };
}[ConditionName];

/** A demand with the sentence that tells people what it is. */
export type Requirement = Demand & { readonly says: string };

/** What keeps the condition from holding; one finding `NOT-DECIDED` when it could not be judged. Throws for bad parameters. */
export function judge(world: World, demand: Demand): readonly Finding[] {
  // The parameters are checked by the condition's own schema, whatever its name.
  const found = CONDITIONS[demand.condition] as unknown as Condition;
  const judgement = found.judge(world, found.params.parse(demand.with));
  if (judgement !== NOT_DECIDED) return judgement;
  return [
    {
      code: "NOT-DECIDED",
      severity: "hold",
      subject: demand.condition,
      message: "could not be judged: what it looks at was not read",
      rule: "what is not known never counts as passed",
      repair: "the gate reads it from the live cluster at `pulumi up`",
    },
  ];
}
