/** Cordon and uncordon, with a mark that says who did it. */
import type { V1Node } from "@kubernetes/client-node";
import { ApiError, UnreachableError, type Api } from "./api.ts";

/** Annotation on nodes that this program cordoned; its value is `stack@stage`. */
export const CORDON_MARK = "cluster-migration/cordoned-by";

/** @returns whether this call changed the node */
export async function cordon(api: Api, name: string, by: string): Promise<boolean> {
  const node = await api.get<V1Node>(`/api/v1/nodes/${name}`);
  if (node.spec?.unschedulable === true) return false;
  await patch(api, name, { metadata: { annotations: { [CORDON_MARK]: by } }, spec: { unschedulable: true } });
  return true;
}

/** @returns whether this call changed the node */
export async function uncordon(api: Api, name: string): Promise<boolean> {
  const node = await api.get<V1Node>(`/api/v1/nodes/${name}`);
  const marked = CORDON_MARK in (node.metadata?.annotations ?? {});
  if (node.spec?.unschedulable !== true && !marked) return false;
  await patch(api, name, {
    metadata: { annotations: { [CORDON_MARK]: null } },
    spec: { unschedulable: null },
  });
  return node.spec?.unschedulable === true;
}

async function patch(api: Api, name: string, body: unknown): Promise<void> {
  await api.request(`/api/v1/nodes/${name}`, {
    method: "PATCH",
    contentType: "application/merge-patch+json",
    body,
  });
}

export type Eviction =
  | { readonly result: "accepted" }
  /** Already gone, or another pod of the same name. */
  | { readonly result: "gone" }
  /** 429: a budget does not allow it now. */
  | { readonly result: "blocked"; readonly message: string }
  /** No answer, or one that says nothing about this pod: the API server or its etcd is not well at the moment. */
  | { readonly result: "away"; readonly message: string }
  /** 403, 500 for several budgets, and others: it will not get better by waiting. */
  | { readonly result: "refused"; readonly message: string };

/**
 * Asks for one eviction of exactly this pod (UID precondition).
 * Sources: Kubernetes docs, API-initiated eviction: 429 a budget forbids it now, 500 misconfiguration such as several
 * budgets on one pod; kubectl's drain for namespaces that are being deleted.
 */
export async function evict(
  api: Api,
  pod: { namespace: string; name: string; uid: string },
): Promise<Eviction> {
  try {
    await api.request(`/api/v1/namespaces/${pod.namespace}/pods/${pod.name}/eviction`, {
      method: "POST",
      body: {
        apiVersion: "policy/v1",
        kind: "Eviction",
        metadata: { name: pod.name, namespace: pod.namespace },
        deleteOptions: { preconditions: { uid: pod.uid } },
      },
    });
    return { result: "accepted" };
  } catch (error) {
    if (error instanceof UnreachableError) return { result: "away", message: error.message };
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404 || error.status === 409) return { result: "gone" };
    if (error.status === 429 || isNamespaceTerminating(error))
      return { result: "blocked", message: error.message };
    const severalBudgets = error.message.includes("PodDisruptionBudget");
    return { result: error.status >= 500 && !severalBudgets ? "away" : "refused", message: error.message };
  }
}

/** Its pods are ended by the namespace's deletion, and gone in a moment. */
function isNamespaceTerminating(error: ApiError): boolean {
  const body = error.body as { details?: { causes?: readonly { reason?: string }[] } } | null;
  return (
    error.status === 403 &&
    (body?.details?.causes?.some((cause) => cause.reason === "NamespaceTerminating") ?? false)
  );
}
