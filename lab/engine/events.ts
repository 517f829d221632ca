/** The engine's own account of an update: the lines of `--event-log` (sdk/go/common/apitype/events.go). */

export interface StepMetadata {
  /** same, create, update, delete, replace, create-replacement, delete-replaced, read, refresh … */
  readonly op: string;
  readonly urn: string;
  readonly type: string;
  readonly keys?: readonly string[];
  readonly diffs?: readonly string[];
}

export interface EngineEvent {
  readonly sequence?: number;
  readonly timestamp?: number;
  readonly resourcePreEvent?: { readonly metadata: StepMetadata; readonly planning?: boolean };
  readonly resOutputsEvent?: { readonly metadata: StepMetadata; readonly planning?: boolean };
  readonly resOpFailedEvent?: { readonly metadata: StepMetadata; readonly status?: number };
  readonly diagnosticEvent?: {
    readonly urn?: string;
    readonly severity: string;
    readonly message: string;
    readonly ephemeral?: boolean;
  };
  readonly policyEvent?: {
    readonly resourceUrn?: string;
    readonly message: string;
    readonly policyName: string;
    readonly policyPackName: string;
    readonly enforcementLevel: string;
  };
  readonly summaryEvent?: {
    readonly maybeCorrupt: boolean;
    readonly durationSeconds: number;
    readonly resourceChanges: Readonly<Record<string, number>>;
  };
}

/** A line cut short by a killed pulumi is left out. */
export function parseEvents(text: string): EngineEvent[] {
  const events: EngineEvent[] = [];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    try {
      events.push(JSON.parse(line) as EngineEvent);
    } catch {
      continue;
    }
  }
  return events;
}

/** From the last part of each URN (the resource's name) to what the engine did or will do with it. */
export function operations(events: readonly EngineEvent[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { resourcePreEvent } of events) {
    if (resourcePreEvent === undefined) continue;
    const { urn, op } = resourcePreEvent.metadata;
    const name = urn.slice(urn.lastIndexOf("::") + 2);
    found.set(name, [...(found.get(name) ?? []), op]);
  }
  return found;
}

/** Lines that commands printed while they ran, in order. */
export function logLines(events: readonly EngineEvent[], urnSuffix: string): string[] {
  return events.flatMap(({ diagnosticEvent: d }) =>
    d?.urn?.endsWith(urnSuffix) === true ? [d.message.replace(/\n$/, "")] : [],
  );
}
