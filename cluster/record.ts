/** Reads the record of the stage last begun. */
import { RECORD, StageRecord } from "../analysis/stage-record.ts";
import type { Api } from "./api.ts";
import { ConnectError } from "./connect.ts";

/** Null where nothing was begun. Throws ConnectError when the ConfigMap is there and is no record: somebody changed it by hand. */
export async function readRecord(api: Api): Promise<StageRecord | null> {
  const found = await api.find<{ data?: Record<string, string> }>(
    `/api/v1/namespaces/${RECORD.namespace}/configmaps/${RECORD.name}`,
  );
  if (found === null) return null;
  const text = found.data?.[RECORD.key];
  try {
    return StageRecord.parse(JSON.parse(text ?? "null"));
  } catch {
    throw new ConnectError({
      code: "RECORD-UNREADABLE",
      severity: "refuse",
      subject: "cluster-migration:cluster",
      message:
        `ConfigMap ${RECORD.namespace}/${RECORD.name} is no record of a stage: ` +
        (text === undefined ? `it has no key '${RECORD.key}'` : text.slice(0, 120)),
      rule: "it says which stage was begun last; nothing but this program writes it",
      repair:
        "bring back what was in it (`pulumi stack export` has it, resource record-configmap); if this cluster is in no plan, delete it",
    });
  }
}
