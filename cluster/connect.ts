/** From the config's kubeconfig and context to a reachable API server, or to one finding that says why not. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { KubeConfig } from "@kubernetes/client-node";
import type { Finding } from "../analysis/finding.ts";
import { nearest } from "../analysis/suggest.ts";
import { Api, ApiError, UnreachableError } from "./api.ts";

export interface Access {
  /** Path; `~/` is the home folder. */
  readonly kubeconfig: string;
  readonly context: string;
}

/** Thrown with everything that is wrong; its message is ready for people. */
export class ConnectError extends Error {
  readonly finding: Finding;
  constructor(finding: Finding) {
    super(finding.message);
    this.name = "ConnectError";
    this.finding = finding;
  }
}

export function expandHome(file: string): string {
  return file === "~" || file.startsWith("~/") ? path.join(homedir(), file.slice(1)) : file;
}

/** Reads the kubeconfig; does not speak to the cluster yet. */
export function openCluster(access: Access): Api {
  const file = expandHome(access.kubeconfig);
  if (!existsSync(file)) {
    throw new ConnectError({
      code: "CLUSTER-KUBECONFIG",
      severity: "refuse",
      subject: "cluster-migration:cluster.kubeconfig",
      message: `there is no file '${access.kubeconfig}'`,
      rule: "the kubeconfig named in the config is the one that is used, no other",
      repair: "write the path of a kubeconfig, absolute or relative to the project's folder",
    });
  }
  const config = new KubeConfig();
  try {
    config.loadFromFile(file);
  } catch (error) {
    throw new ConnectError({
      code: "CLUSTER-KUBECONFIG",
      severity: "refuse",
      subject: "cluster-migration:cluster.kubeconfig",
      message: `'${access.kubeconfig}' cannot be read as a kubeconfig: ${(error as Error).message}`,
      rule: "a kubeconfig as kubectl reads it",
      repair: "compare with `kubectl config view --raw`",
    });
  }
  const contexts = config.getContexts().map((context) => context.name);
  if (!contexts.includes(access.context)) {
    const suggestion = nearest(access.context, contexts);
    throw new ConnectError({
      code: "CLUSTER-CONTEXT",
      severity: "refuse",
      subject: "cluster-migration:cluster.context",
      message: `'${access.context}' is not a context of '${access.kubeconfig}'`,
      rule: `the contexts there: ${contexts.join(", ") || "none"}`,
      repair:
        suggestion === null
          ? "pulumi config set --path cluster.context NAME"
          : `did you mean '${suggestion}'? pulumi config set --path cluster.context ${suggestion}`,
    });
  }
  config.setCurrentContext(access.context);
  if (config.getCurrentCluster() === null) {
    throw new ConnectError({
      code: "CLUSTER-CONTEXT",
      severity: "refuse",
      subject: "cluster-migration:cluster.context",
      message: `context '${access.context}' names cluster '${config.getContextObject(access.context)?.cluster ?? ""}', which '${access.kubeconfig}' does not have`,
      rule: `the clusters there: ${config.clusters.map((one) => one.name).join(", ") || "none"}`,
      repair: "compare with `kubectl config view`, and mend the kubeconfig or choose another context",
    });
  }
  return new Api(config);
}

/** What to tell people when a call to the cluster failed. */
export function unreachable(error: unknown): Finding | undefined {
  if (error instanceof UnreachableError) {
    return {
      code: "CLUSTER-UNREACHABLE",
      severity: "hold",
      subject: "cluster-migration:cluster",
      message: error.message,
      rule: "nothing is planned or changed on a cluster that cannot be read",
      repair:
        "bring back the path to the API server (network, VPN, tunnel), then run again: nothing was changed",
    };
  }
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
    return {
      code: "CLUSTER-DENIED",
      severity: "refuse",
      subject: "cluster-migration:cluster.context",
      message: error.message,
      rule: "the user of this context may read nodes, pods, budgets and workloads (docs/permissions.md)",
      repair: "choose a context with the rights, or grant them",
    };
  }
  return undefined;
}
