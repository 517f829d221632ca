/** Conditions on etcd. */
import { z } from "zod";
import type { Finding } from "../finding.ts";
import { condition, NOT_DECIDED } from "./world.ts";

/** Every endpoint that was asked answered, without errors, as a voter of one and the same cluster. */
export const etcdHealthy = condition(
  z.strictObject({ endpoints: z.array(z.string()) }),
  (world, { endpoints }) => {
    const members = world.etcd;
    if (members === undefined) return NOT_DECIDED;
    const rule = "all members healthy, none a learner, one cluster, before anything that cannot be undone";
    const finding = (subject: string, message: string): Finding => ({
      code: "ETCD-UNHEALTHY",
      severity: "hold",
      subject,
      message,
      rule,
      repair: "etcdctl endpoint status -w table; etcdctl member list -w table; mend that first",
    });
    const silent = endpoints.filter((endpoint) => !members.some((member) => member.endpoint === endpoint));
    const clusters = [...new Set(members.map((member) => member.clusterId))];
    return [
      ...silent.map((endpoint) => finding(`etcd ${endpoint}`, "does not answer")),
      ...members
        .filter((member) => member.isLearner)
        .map((member) => finding(`etcd ${member.endpoint}`, "is a learner")),
      ...members
        .filter((member) => member.errors.length > 0)
        .map((member) => finding(`etcd ${member.endpoint}`, `reports ${member.errors.join("; ")}`)),
      ...(clusters.length > 1
        ? [finding("etcd", `answers come from ${clusters.length} clusters: ${clusters.join(", ")}`)]
        : []),
    ];
  },
);
