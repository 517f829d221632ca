/** Conditions on workloads and budgets. */
import { z } from "zod";
import { desiredHealthy } from "../budgets.ts";
import type { Finding } from "../finding.ts";
import { condition, NOT_DECIDED } from "./world.ts";

/** Annotation on the namespace of the drill: without it a namespace is somebody else's. */
export const OWN_NAMESPACE = { key: "cluster-migration/made-for", value: "drill" } as const;

/** The namespace is free, or was made by this program: it goes with all that is in it when the stack goes back. */
export const namespaceOwn = condition(
  z.strictObject({ namespace: z.string() }),
  ({ inventory }, { namespace }) => {
    if (inventory.namespaces === undefined) return NOT_DECIDED;
    const found = inventory.namespaces.find((one) => one.name === namespace);
    if (found === undefined || found.annotations[OWN_NAMESPACE.key] === OWN_NAMESPACE.value) return [];
    return [
      {
        code: "NAMESPACE-TAKEN",
        severity: "refuse",
        subject: `Namespace ${namespace}`,
        message: "is there already, and this program has not made it",
        rule: "going back deletes the namespace of the drill with everything in it: it must be the stack's own",
        repair: "choose another: pulumi config set --path upgrade.drill.namespace NAME",
      },
    ];
  },
);

/** This workload has as many Ready pods as it asks for, and at least so many. */
export const workloadReady = condition(
  z.strictObject({ namespace: z.string(), kind: z.string(), name: z.string(), replicas: z.number() }),
  (world, { namespace, kind, name, replicas }): Finding[] => {
    const workload = world.inventory.workloads.find(
      (one) => one.kind === kind && one.namespace === namespace && one.name === name,
    );
    if (workload !== undefined && workload.replicas === replicas && workload.readyReplicas === replicas)
      return [];
    return [
      {
        code: "WORKLOAD-NOT-READY",
        severity: "hold",
        subject: `${kind} ${namespace}/${name}`,
        message:
          workload === undefined
            ? "is not there"
            : `${workload.readyReplicas} of ${workload.replicas ?? 0} pods are Ready`,
        rule: `${replicas} Ready pods`,
        repair: `kubectl -n ${namespace} describe ${kind.toLowerCase()} ${name}`,
      },
    ];
  },
);

/** Every workload with a number of replicas has that many Ready pods. */
export const workloadsReady = condition(z.strictObject({}), (world) =>
  world.inventory.workloads
    .filter((one) => one.controller === null && one.replicas !== null && one.readyReplicas < one.replicas)
    .map((one) => ({
      code: "WORKLOAD-NOT-READY",
      severity: "hold" as const,
      subject: `${one.kind} ${one.namespace}/${one.name}`,
      message: `${one.readyReplicas} of ${one.replicas ?? 0} pods are Ready`,
      rule: "every workload serves in full before a step and after it",
      repair: `kubectl -n ${one.namespace} describe ${one.kind.toLowerCase()} ${one.name}; scale it to what it can have if that is on purpose`,
    })),
);

/** This budget stands, asks for this many available pods, and covers at least as many. */
export const budgetPresent = condition(
  z.strictObject({ namespace: z.string(), name: z.string(), minAvailable: z.number() }),
  (world, { namespace, name, minAvailable }): Finding[] => {
    const budget = world.inventory.budgets.find((one) => one.namespace === namespace && one.name === name);
    const subject = `PodDisruptionBudget ${namespace}/${name}`;
    const rule = `minAvailable ${minAvailable}, no maxUnavailable, over the pods that will be evicted`;
    if (budget === undefined) {
      return [
        {
          code: "PDB-MISSING",
          severity: "hold",
          subject,
          message: "is not there",
          rule,
          repair: "pulumi up at the stage that makes it",
        },
      ];
    }
    if (budget.minAvailable !== minAvailable || budget.maxUnavailable !== null) {
      const seen = `minAvailable ${budget.minAvailable ?? "(none)"}, maxUnavailable ${budget.maxUnavailable ?? "(none)"}`;
      return [
        {
          code: "PDB-CHANGED",
          severity: "refuse",
          subject,
          message: `has ${seen}`,
          rule,
          repair: "pulumi refresh, then pulumi up",
        },
      ];
    }
    if (budget.status === null || budget.status.expectedPods < minAvailable) {
      const seen =
        budget.status === null
          ? "was not looked at by the disruption controller yet"
          : `covers ${budget.status.expectedPods} pods`;
      return [
        {
          code: "PDB-COVERS-LITTLE",
          severity: "hold",
          subject,
          message: seen,
          rule,
          repair: "compare its selector with the labels of the pods",
        },
      ];
    }
    return [];
  },
);

/** No budget has fewer healthy pods than it wants. */
export const budgetsHealthy = condition(z.strictObject({}), (world) =>
  world.inventory.budgets.flatMap((budget): Finding[] => {
    const status = budget.status;
    if (status === null || status.expectedPods === 0) return [];
    const wanted = desiredHealthy(budget, status.expectedPods);
    if (status.currentHealthy >= wanted) return [];
    return [
      {
        code: "PDB-BROKEN",
        severity: "hold",
        subject: `PodDisruptionBudget ${budget.namespace}/${budget.name}`,
        message: `${status.currentHealthy} healthy pods, ${wanted} wanted`,
        rule: "a step neither starts nor ends while a budget is broken",
        repair: `kubectl -n ${budget.namespace} get pods; bring its pods back first`,
      },
    ];
  }),
);
