/**
 * The program: config, position, decision, foresight, composition, outputs. Everything that can be refused is refused
 * before the first resource is declared.
 */
import * as pulumi from "@pulumi/pulumi";
import { describe, type Finding } from "../analysis/finding.ts";
import type { Inventory } from "../analysis/inventory.ts";
import { ConnectError, openCluster, unreachable } from "../cluster/connect.ts";
import { readInventory } from "../cluster/inventory.ts";
import type { StageRecord } from "../analysis/stage-record.ts";
import { readRecord } from "../cluster/record.ts";
import { etcdFileFindings, outFindings } from "../config/files.ts";
import { parseStackConfig, type StackConfig } from "../config/stack.ts";
import { composeStack, type StackOutputs } from "./compose.ts";
import { CarriedFacts, factsOf } from "./facts.ts";
import type { Plan } from "./plan.ts";
import {
  clusterFindings,
  lostRecordFindings,
  nextRecord,
  positionOf,
  recordFindings,
  type OwnOutputs,
} from "./position.ts";
import { tell } from "./tell.ts";
import { decide } from "./transition.ts";
import { FIRST_STAGE, makeUpgradePlan } from "./upgrade/index.ts";

export async function run(): Promise<StackOutputs> {
  const config = readConfig();
  const stack = `${pulumi.getOrganization()}/${pulumi.getProject()}/${pulumi.getStack()}`;
  const [own, world] = await Promise.all([readOwnOutputs(stack), readCluster(config)]);
  refuse(recordFindings(world.record, { stack, plan: config.plan, context: config.cluster.context }));

  const live = factsOf(world.inventory);
  refuse(clusterFindings(own.facts, live, config.cluster.context));
  // The first stage takes the inventory: it is about the cluster as it is now. Every later one is about what that saw.
  const plan = makePlan(config, config.stage === FIRST_STAGE ? live : (own.facts ?? live));
  const decision = decide(plan.stages, positionOf(own, world.record), config.stage);
  if (!decision.ok) throw refusal([decision.problem]);
  const { transition } = decision;
  const taken = transition.target === 0 && transition.kind !== "settled";
  const facts = taken || own.facts === null ? live : own.facts;

  for (const lost of lostRecordFindings(own, world.record)) await pulumi.log.warn(describe(lost));
  const told = tell(plan, transition, world.inventory);
  if (pulumi.runtime.isDryRun()) await pulumi.log.info(told.lines.join("\n"));
  refuse(told.refusals);
  for (const warning of told.warnings) await pulumi.log.warn(describe(warning));

  const record = nextRecord({
    stack,
    plan: config.plan,
    stage: config.stage,
    transition,
    finished: own.attempt,
    live: world.record,
  });
  return composeStack({
    config,
    stack,
    plan,
    target: transition.target,
    settled: transition.kind === "settled",
    record,
    facts,
  });
}

function makePlan(config: StackConfig, facts: CarriedFacts): Plan {
  const made = makeUpgradePlan(config, facts);
  if (!made.ok) throw refusal(made.problems);
  return made.plan;
}

function readConfig(): StackConfig {
  // Set by every language host beside the config itself.
  const secrets = JSON.parse(process.env["PULUMI_CONFIG_SECRET_KEYS"] ?? "[]") as readonly string[];
  const parsed = parseStackConfig(pulumi.runtime.allConfig(), pulumi.getProject(), secrets);
  if (!parsed.ok) throw refusal(parsed.problems);
  refuse([...outFindings(parsed.config.out), ...etcdFileFindings(parsed.config.upgrade)]);
  return parsed.config;
}

/** The stack's own last outputs, at preview too. A stack that was never updated has none. */
async function readOwnOutputs(stack: string): Promise<OwnOutputs> {
  const self = new pulumi.StackReference(stack);
  const [stage, attempt, facts] = await Promise.all([
    self.getOutputDetails("stage"),
    self.getOutputDetails("attempt"),
    self.getOutputDetails("facts"),
  ]);
  const last: { stage: unknown; attempt: unknown } = { stage: stage.value, attempt: attempt.value };
  return {
    stage: typeof last.stage === "string" ? last.stage : null,
    attempt: typeof last.attempt === "number" ? last.attempt : null,
    facts: facts.value === undefined || facts.value === null ? null : CarriedFacts.parse(facts.value),
  };
}

async function readCluster(
  config: StackConfig,
): Promise<{ inventory: Inventory; record: StageRecord | null }> {
  try {
    const api = openCluster(config.cluster);
    const [inventory, record] = await Promise.all([readInventory(api), readRecord(api)]);
    return { inventory, record };
  } catch (error) {
    const finding = error instanceof ConnectError ? error.finding : unreachable(error);
    if (finding === undefined) throw error;
    throw refusal([finding]);
  }
}

function refuse(findings: readonly Finding[]): void {
  if (findings.length > 0) throw refusal(findings);
}

/** One message with every problem; the engine prints it without a stack trace. */
function refusal(findings: readonly Finding[]): pulumi.RunError {
  const count = findings.length === 1 ? "1 problem" : `${findings.length} problems`;
  return new pulumi.RunError(`nothing was changed: ${count}\n\n${findings.map(describe).join("\n\n")}\n`);
}
