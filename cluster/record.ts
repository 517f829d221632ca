/** Reads the record of the stage last begun. */
import { RECORD, StageRecord } from "../analysis/stage-record.ts";
import type { Api } from "./api.ts";

/** Null where nothing was begun. Throws when the ConfigMap is there and cannot be read: somebody changed it by hand. */
export async function readRecord(api: Api): Promise<StageRecord | null> {
  const found = await api.find<{ data?: Record<string, string> }>(
    `/api/v1/namespaces/${RECORD.namespace}/configmaps/${RECORD.name}`,
  );
  if (found === null) return null;
  return StageRecord.parse(JSON.parse(found.data?.[RECORD.key] ?? "null"));
}
