/** The workloads of every bench, on a lab or on paper. Apart, so that a worker that only computes loads nothing else. */

export const REPLICAS = 20;
export const MAX_UNAVAILABLE = "10%";
/** From a pod's binding to Ready. */
export const READY_SECONDS = [5, 7] as const;
export const TERMINATION_SECONDS = [0.5, 1] as const;
