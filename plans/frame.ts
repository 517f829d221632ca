/**
 * The frame around every stage: gate, record, the stage's own work, check, in this order and with real dependencies.
 * Stages that were applied before stay in the program as history: what they declare is kept, what they ran never runs
 * again.
 */
import type * as kubernetes from "@pulumi/kubernetes";
import type * as pulumi from "@pulumi/pulumi";
import type { Requirement } from "../analysis/conditions/index.ts";
import type { StageRecord } from "../analysis/stage-record.ts";
import type { CommandDocument } from "../commands/document.ts";
import type { SteadySpec } from "../commands/steady.ts";
import { ClusterCommand } from "../components/cluster-command.ts";
import { MigrationRecord } from "../components/migration-record.ts";
import type { ClusterConfig } from "../config/stack.ts";
import type { CarriedFacts } from "./facts.ts";
import type { Stage } from "./stage.ts";

export interface FrameArgs {
  readonly stack: string;
  readonly plan: string;
  readonly cluster: ClusterConfig;
  readonly out: string;
  readonly facts: CarriedFacts;
  readonly record: StageRecord;
  /** For requirements on etcd. */
  readonly etcd?: Readonly<Record<string, unknown>>;
  readonly verify: {
    readonly gateTimeoutSeconds: number;
    readonly successes: number;
    readonly intervalSeconds: number;
    readonly timeoutSeconds: number;
  };
}

export interface CommandOptions {
  readonly irreversible?: boolean;
  /** Nodes it touches: their UIDs are bound. */
  readonly nodes?: readonly string[];
  readonly input?: pulumi.Input<string>;
  /** Comes after these, besides gate and record. */
  readonly after?: readonly pulumi.Resource[];
}

/** Where a stage stands in the program. */
export interface FramePlace {
  /** Applied before: its commands never run again. */
  readonly history: boolean;
  /** Gate and record: everything in the stage comes after them. */
  readonly before: readonly pulumi.Resource[];
  /** Of the names of its commands; `undo-` on the way back. */
  readonly prefix?: string;
}

export class StageFrame {
  readonly stage: Stage;
  readonly provider: kubernetes.Provider;
  readonly #args: FrameArgs;
  readonly #place: FramePlace;
  readonly #done: pulumi.Resource[] = [];
  readonly #commands: ClusterCommand[] = [];

  constructor(stage: Stage, args: FrameArgs, provider: kubernetes.Provider, place: FramePlace) {
    this.stage = stage;
    this.provider = provider;
    this.#args = args;
    this.#place = place;
  }

  /** First attempt at the stage: ties together the runs before and after an interruption. */
  get since(): number {
    return this.#args.record.since;
  }

  /** Options for what a stage declares: through the cluster's provider, after the gate. */
  get options(): pulumi.ComponentResourceOptions {
    return { providers: [this.provider], dependsOn: [...this.#place.before] };
  }

  /** Says that the stage's check comes after these. */
  checked(...resources: readonly pulumi.Resource[]): void {
    this.#done.push(...resources);
  }

  /** One command of this stage. Its resource is named after stage and command, so a stage has each at most once. */
  command(
    command: string,
    spec: Readonly<Record<string, unknown>>,
    options: CommandOptions = {},
  ): ClusterCommand {
    const name = `${this.#place.prefix ?? ""}${this.stage.name}-${command}`;
    const made = makeCommand(this.#args, this.stage.name, name, command, spec, {
      history: this.#place.history,
      options,
      after: [...this.#place.before, ...(options.after ?? [])],
    });
    this.#done.push(made.resource);
    this.#commands.push(made);
    return made;
  }

  get commands(): readonly ClusterCommand[] {
    return this.#commands;
  }

  get done(): readonly pulumi.Resource[] {
    return this.#done;
  }
}

interface MakeOptions {
  readonly history: boolean;
  readonly options?: CommandOptions;
  readonly after: readonly pulumi.Resource[];
}

export function makeCommand(
  args: FrameArgs,
  stage: string,
  name: string,
  command: string,
  spec: Readonly<Record<string, unknown>>,
  { history, options = {}, after }: MakeOptions,
): ClusterCommand {
  const uids = new Map(args.facts.nodes.map((node) => [node.name, node.uid]));
  const document: CommandDocument = {
    command,
    stack: args.stack,
    plan: args.plan,
    stage,
    irreversible: options.irreversible ?? false,
    history,
    cluster: { kubeconfig: args.cluster.kubeconfig, context: args.cluster.context },
    bound: {
      clusterUid: args.facts.clusterUid,
      nodes: Object.fromEntries((options.nodes ?? []).map((node) => [node, uids.get(node) ?? ""])),
    },
    out: args.out,
    spec: { ...spec },
  };
  return new ClusterCommand(
    name,
    {
      document,
      triggers: [stage, args.record.attempt],
      ...(options.input === undefined ? {} : { input: options.input }),
    },
    { dependsOn: [...after] },
  );
}

/** The way back has a gate of its own: this cluster, reachable and reviewed, and what the undoing demands. */
export function wayBackGateOf(
  args: FrameArgs,
  stage: Stage,
  history: boolean,
  demands: readonly Requirement[],
): ClusterCommand {
  const name = `way-back-to-${stage.name}`;
  return makeCommand(args, stage.name, name, "gate", demanding(args, demands, gateSteady(args)), {
    history,
    after: [],
  });
}

export function gateOf(
  args: FrameArgs,
  stage: Stage,
  history: boolean,
  after: readonly pulumi.Resource[],
): ClusterCommand {
  const spec = demanding(args, stage.gate, gateSteady(args));
  return makeCommand(args, stage.name, `${stage.name}-gate`, "gate", spec, { history, after });
}

export function checkOf(
  args: FrameArgs,
  stage: Stage,
  history: boolean,
  after: readonly pulumi.Resource[],
): ClusterCommand {
  const { gateTimeoutSeconds: _, ...steady } = args.verify;
  const spec = demanding(args, stage.check, steady);
  return makeCommand(args, stage.name, `${stage.name}-check`, "check", spec, { history, after });
}

/** A gate is believed at once: what it looks at was not changed by anybody here. */
function gateSteady({ verify }: FrameArgs): SteadySpec {
  return {
    successes: 1,
    intervalSeconds: verify.intervalSeconds,
    timeoutSeconds: Math.min(verify.gateTimeoutSeconds, verify.timeoutSeconds),
  };
}

function demanding(
  args: FrameArgs,
  requirements: readonly Requirement[],
  steady: SteadySpec,
): Record<string, unknown> {
  return { requirements, steady, ...(args.etcd === undefined ? {} : { etcd: args.etcd }) };
}

export function recordOf(
  args: FrameArgs,
  holds: boolean,
  provider: kubernetes.Provider,
  after: readonly pulumi.Resource[],
): MigrationRecord {
  return new MigrationRecord("record", { record: args.record }, { provider, holds, after: [...after] });
}
