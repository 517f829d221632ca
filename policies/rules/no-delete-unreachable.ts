import { read } from "../reading.ts";
import { undecided, violation, type Rule, type Verdict } from "../rule.ts";

const VARIABLE = "PULUMI_K8S_DELETE_UNREACHABLE";

export const noDeleteUnreachable: Rule = {
  name: "no-delete-unreachable",
  demands: "No Kubernetes provider forgets resources of a cluster that it cannot reach.",
  why: "while an endpoint moves the cluster is alive and only the path is broken: its objects would vanish from the state (pulumi/pulumi-kubernetes#1013, pulumi/pulumi-kubernetes#2489)",
  repair: "set `deleteUnreachable: false` on the provider",
  resource: (one, { env }) => {
    if (one.type !== "pulumi:providers:kubernetes") return [];
    const verdicts: Verdict[] = [];
    const flag = read(one, "deleteUnreachable");
    if (flag.state === "unknown") verdicts.push(undecided(one, flag.property));
    // Providers get their inputs as JSON texts.
    if (flag.state === "known" && (flag.value === true || flag.value === "true")) {
      verdicts.push(violation(one, `provider '${one.name}' has \`deleteUnreachable: true\``));
    }
    if (env[VARIABLE] === "true") {
      verdicts.push(
        violation(
          one,
          `the environment has ${VARIABLE}=true, which every Kubernetes provider obeys that does not say otherwise itself (here: '${one.name}')`,
          `unset ${VARIABLE}`,
        ),
      );
    }
    return verdicts;
  },
};
