/** Declares the whole stack at its target stage: history, the stage that is entered or stood in, and the way back. */
import * as kubernetes from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { StageRecord } from "../analysis/stage-record.ts";
import type { ClusterCommand } from "../components/cluster-command.ts";
import type { StackConfig } from "../config/stack.ts";
import type { CarriedFacts } from "./facts.ts";
import { checkOf, gateOf, recordOf, StageFrame, wayBackGateOf, type FrameArgs } from "./frame.ts";
import type { Plan } from "./plan.ts";
import type { Stage } from "./stage.ts";

export interface ComposeArgs {
  readonly config: StackConfig;
  readonly stack: string;
  readonly plan: Plan;
  readonly target: number;
  /** The stack is at its target already: what ran there is history, and a changed setting makes nothing run again. */
  readonly settled: boolean;
  readonly record: StageRecord;
  readonly facts: CarriedFacts;
}

export interface StackOutputs {
  /** The stage applied in full: known only when its check has passed. */
  readonly stage: pulumi.Output<string>;
  /** Of the record: the `up` that these outputs are of. Tells a way back that is finished from one that was cut short. */
  readonly attempt: pulumi.Output<number>;
  readonly plan: string;
  readonly facts: CarriedFacts;
  /** Per command, on one line: the file of its evidence and the SHA-256 of that file. */
  readonly evidence: pulumi.Output<Readonly<Record<string, string>>>;
}

export function composeStack(compose: ComposeArgs): StackOutputs {
  const { config, stack, plan, target, settled, record, facts } = compose;
  const provider = new kubernetes.Provider("cluster", {
    kubeconfig: config.cluster.kubeconfig,
    context: config.cluster.context,
    // Identity is the name in the config: another path to the same cluster replaces nothing.
    clusterIdentifier: config.cluster.name,
    // An API server that is out of reach must never make the engine forget what stands on it.
    deleteUnreachable: false,
    // The record of the stage last begun changes in place: a replacement would take it away for a moment.
    enableConfigMapMutable: true,
  });
  const args: FrameArgs = {
    stack,
    plan: config.plan,
    cluster: config.cluster,
    out: config.out,
    facts,
    record,
    verify: plan.verify,
    ...(plan.etcd === undefined ? {} : { etcd: plan.etcd }),
  };
  const stage = plan.stages[target];
  if (stage === undefined) throw new RangeError(`no stage of index ${target}`);
  const place: Place = {
    args,
    plan,
    provider,
    commands: [],
    settled,
    // Torn down half-way a cluster would be left between two stages: only at either end may the stack go.
    holds: target > 0 && target < plan.stages.length - 1,
  };
  let before: readonly pulumi.Resource[] = [];
  for (const earlier of plan.stages.slice(0, target)) before = [past(place, earlier, before).resource];
  const check = record.came === "forward" ? entered(place, stage, before) : returnedTo(place, stage, before);
  const evidence = pulumi
    .all(
      place.commands.map((command) =>
        command.evidence.apply(({ file, sha256 }) => [command.name, `${file} sha256:${sha256}`] as const),
      ),
    )
    .apply((all) => Object.fromEntries(all));
  return {
    // Outputs are recorded as soon as they are known, also by an `up` that fails: this one waits for the check.
    stage: check.stdout.apply(() => stage.name),
    attempt: check.stdout.apply(() => record.attempt),
    plan: config.plan,
    facts,
    evidence,
  };
}

/** What every stage of one program shares. */
interface Place {
  readonly args: FrameArgs;
  readonly plan: Plan;
  readonly provider: kubernetes.Provider;
  /** All commands declared so far, for the evidence. */
  readonly commands: ClusterCommand[];
  readonly settled: boolean;
  readonly holds: boolean;
}

/** A stage that was applied before: what it declares stands; its commands are history. */
function past(place: Place, stage: Stage, before: readonly pulumi.Resource[]): ClusterCommand {
  const { args, plan, provider, commands } = place;
  const gate = gateOf(args, stage, true, before);
  const frame = new StageFrame(stage, args, provider, { history: true, before: [gate.resource] });
  plan.compose(frame);
  const check = checkOf(args, stage, true, [gate.resource, ...frame.done]);
  commands.push(gate, ...frame.commands, check);
  return check;
}

function entered(place: Place, stage: Stage, before: readonly pulumi.Resource[]): ClusterCommand {
  const { args, plan, provider, commands, settled, holds } = place;
  const gate = gateOf(args, stage, settled, before);
  const record = recordOf(args, holds, provider, [gate.resource]);
  const frame = new StageFrame(stage, args, provider, {
    history: settled,
    before: [gate.resource, record.resource],
  });
  plan.compose(frame);
  const check = checkOf(args, stage, settled, [record.resource, ...frame.done]);
  commands.push(gate, ...frame.commands, check);
  return check;
}

/** Stages above were undone, the last one first; then the stage's own check has to hold again. */
function returnedTo(place: Place, stage: Stage, before: readonly pulumi.Resource[]): ClusterCommand {
  const { args, plan, provider, commands, settled, holds } = place;
  const undone = plan.stages.filter((one) => args.record.undone.includes(one.name)).reverse();
  const demands = undone.flatMap((one) => plan.undoDemands(one, stage));
  const wayBack = wayBackGateOf(args, stage, settled, demands);
  const record = recordOf(args, holds, provider, [wayBack.resource]);
  commands.push(wayBack);
  let after: readonly pulumi.Resource[] = [record.resource];
  for (const one of undone) {
    const frame = new StageFrame(one, args, provider, { history: settled, before: after, prefix: "undo-" });
    plan.undo(frame, stage);
    commands.push(...frame.commands);
    if (frame.done.length > 0) after = frame.done;
  }
  const gate = gateOf(args, stage, true, before);
  const frame = new StageFrame(stage, args, provider, {
    history: settled || stage.rereads !== true,
    before: [gate.resource],
  });
  plan.compose(frame);
  const check = checkOf(args, stage, settled, [...after, ...frame.done]);
  commands.push(gate, ...frame.commands, check);
  return check;
}
