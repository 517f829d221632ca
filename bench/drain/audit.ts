/** Counts eviction requests in the API server's audit log: what it answered, whoever asked. */
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { createInterface } from "node:readline";

export interface Evictions {
  readonly accepted: number;
  /** 429: a budget did not allow it. */
  readonly refused: number;
  readonly other: number;
}

interface AuditEvent {
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code?: number };
}

/** Where the log ends now: what comes later is read from here. */
export const endOf = async (file: string): Promise<number> => (await stat(file)).size;

/** @throws when the log was rotated since, because then part of what is counted is gone */
export async function evictionsSince(file: string, from: number): Promise<Evictions> {
  if ((await endOf(file)) < from) throw new Error(`${file} was rotated while it was being counted`);
  const count = { accepted: 0, refused: 0, other: 0 };
  for await (const line of createInterface({ input: createReadStream(file, { start: from }) })) {
    // Most lines are of no interest, and parsing them all takes seconds.
    if (!line.includes('"eviction"')) continue;
    const event = JSON.parse(line) as AuditEvent;
    if (event.objectRef?.resource !== "pods" || event.objectRef.subresource !== "eviction") continue;
    const code = event.responseStatus?.code ?? 0;
    if (code === 201) count.accepted += 1;
    else if (code === 429) count.refused += 1;
    else count.other += 1;
  }
  return count;
}
