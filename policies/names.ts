/**
 * Names that program and policies share. Policies import neither cluster/ nor plans/ (a policy makes no call to a cluster), so
 * they are said again here; a test holds them against cluster/record.ts and plans/upgrade/settings.ts.
 */

/** ConfigMap with the record of the stage last begun. */
export const RECORD = { namespace: "kube-system", name: "cluster-migration" } as const;

/** Node label with the rollout's stage. */
export const STAGE_LABEL = "upgrade.labhub.io/stage";
