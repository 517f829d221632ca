/** The commands of this project in a stack, by the document on their standard input. */
import { z } from "zod";
import { DocumentSchema } from "../commands/document.ts";
import { keysOf, read, readText } from "./reading.ts";
import type { Undecided } from "./rule.ts";
import { undecided } from "./rule.ts";
import type { ResourceView, StackView } from "./view.ts";

/** What policies need of it. Other keys are let pass: the state holds documents that earlier releases wrote. */
const Document = z.object(
  DocumentSchema.pick({
    command: true,
    plan: true,
    stage: true,
    irreversible: true,
    history: true,
    spec: true,
  }).shape,
);
export type Document = z.output<typeof Document>;

export interface DocumentedCommand {
  readonly resource: ResourceView;
  readonly document: Document;
  /** Will run, or has just run. Not: one of a stage that was applied before, which the engine never runs again. */
  readonly live: boolean;
}

/** Commands that only look: they need no gate. */
export const OBSERVERS: ReadonlySet<string> = new Set(["gate", "check", "inventory"]);

/** Commands that are irreversible by nature, whatever their document says. */
export const IRREVERSIBLE: ReadonlySet<string> = new Set(["upgrade-control-plane", "upgrade-nodes"]);

/** Commands that end pods on nodes. */
export const EMPTIES_NODES: ReadonlySet<string> = new Set(["drain", "upgrade-nodes"]);

const OURS = "cluster-migration:index:ClusterCommand$";

export const isLocalCommand = ({ type }: ResourceView): boolean => type === "command:local:Command";

export const isCommand = (one: ResourceView): boolean =>
  isLocalCommand(one) || one.type === "command:remote:Command";

/** The command of a resource; null where it is none of ours, or its document is not known. */
export function commandOf(resource: ResourceView): DocumentedCommand | null {
  if (!isLocalCommand(resource)) return null;
  const { text } = readText(resource, "stdin");
  const document = text === null ? null : parse(text);
  if (document === null) return null;
  const kept = document.history || (ignores(resource, "stdin") && hasRun(resource));
  return { resource, document, live: !kept };
}

export function commandsOf(stack: StackView): readonly DocumentedCommand[] {
  return stack.resources.map(commandOf).filter((command) => command !== null);
}

/** Commands of ours whose document is not known: no rule on documents can judge them. */
export function undecidedDocuments(resources: readonly ResourceView[]): Undecided[] {
  return resources
    .filter((one) => isOurs(one) && readText(one, "stdin").state === "unknown")
    .map((one) => undecided(one, "stdin"));
}

/** Commands of ours that will run with something that is no document. What ran before may have been of another shape. */
export function withoutDocument(resources: readonly ResourceView[]): readonly ResourceView[] {
  return resources.filter(
    (one) =>
      isOurs(one) &&
      readText(one, "stdin").state !== "unknown" &&
      commandOf(one) === null &&
      !(ignores(one, "stdin") && hasRun(one)),
  );
}

const isOurs = (one: ResourceView): boolean => isLocalCommand(one) && one.urn.includes(OURS);

function parse(text: string): Document | null {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return null;
  }
  const parsed = Document.safeParse(json);
  return parsed.success ? parsed.data : null;
}

/**
 * `ignoreChanges` keeps the document of the day a command ran, which says that it was no history yet. A command that is
 * new runs all the same, whatever it ignores: only one whose output stands in the state is history.
 */
export function ignores({ opts }: ResourceView, property: string): boolean {
  return opts.ignoreChanges.includes("*") || opts.ignoreChanges.includes(property);
}

/** Where the engine asks before it touches the resource, outputs are not there at all: then the option is believed. */
function hasRun(resource: ResourceView): boolean {
  return !keysOf(resource).includes("stdout") || read(resource, "stdout").state === "known";
}

export interface Demanded {
  readonly condition: string;
  readonly with: Readonly<Record<string, unknown>>;
}

const Requirements = z.array(z.object({ condition: z.string(), with: z.record(z.string(), z.unknown()) }));

/** What a gate or check demands. */
export function demandsOf({ document }: DocumentedCommand): readonly Demanded[] {
  return Requirements.safeParse(document.spec["requirements"]).data ?? [];
}

const Nodes = z.array(z.string());

/** Nodes that a command works on. */
export function nodesOf({ document }: DocumentedCommand): readonly string[] {
  return Nodes.safeParse(document.spec["nodes"]).data ?? [];
}

/** `command 'canary-upgrade-nodes'`, for messages. */
export const named = ({ resource }: DocumentedCommand): string => `command '${resource.name}'`;

export const isGate = ({ document }: DocumentedCommand): boolean => document.command === "gate";

export const isCheck = ({ document }: DocumentedCommand): boolean => document.command === "check";

/** The gate of a way back demands nothing of the stage: it stands before what undoes the stages above it. */
export const isWayBackGate = (command: DocumentedCommand): boolean =>
  isGate(command) && command.resource.name.startsWith("way-back-to-");

/** The live gates a command comes after: its own stage's, or that of the way back. */
export function gatesBefore(
  stack: StackView,
  commands: readonly DocumentedCommand[],
  { resource, document }: DocumentedCommand,
): readonly DocumentedCommand[] {
  return commands.filter(
    (gate) =>
      gate.live &&
      isGate(gate) &&
      (isWayBackGate(gate) || gate.document.stage === document.stage) &&
      stack.after(resource, gate.resource),
  );
}
