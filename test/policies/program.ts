/**
 * The real program at one stage, as the engine would show it to a policy: composed under Pulumi's mocks, with what mocks hide
 * (dependencies, protect, ignoreChanges) taken from the requests themselves.
 */
import { createRequire } from "node:module";
import * as pulumi from "@pulumi/pulumi";
import type { RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb.js";
import { parseStackConfig } from "../../config/stack.ts";
import { composeStack, type ComposeArgs } from "../../plans/compose.ts";
import type { CarriedFacts } from "../../plans/facts.ts";
import { makeUpgradePlan } from "../../plans/upgrade/index.ts";
import type { ResourceView } from "../../policies/view.ts";

/** The engine's own way to say "not known": internal, so without types. */
const { unknownCheckingProxy, unknownStringValue } = createRequire(import.meta.url)(
  "@pulumi/policy/proxy.js",
) as {
  unknownCheckingProxy: (props: Record<string, unknown>) => Record<string, unknown>;
  unknownStringValue: string;
};

const PROJECT = "cluster-migration";
const SERVER = "v1.34.4";
export const TARGET = "v1.35.4";

const facts: CarriedFacts = {
  clusterUid: "uid-cluster",
  serverVersion: SERVER,
  nodes: [0, 1, 2].map((index) => ({
    name: `node-${index}`,
    uid: `uid-${index}`,
    controlPlane: index === 0,
    kubeletVersion: SERVER,
  })),
};

export interface ProgramOptions {
  /** Undone on the way back to the stage; none: it was entered going forward. */
  readonly undone?: readonly string[];
  readonly upgrade?: Readonly<Record<string, unknown>>;
}

export async function program(stage: string, options: ProgramOptions = {}): Promise<ResourceView[]> {
  const parsed = parseStackConfig(
    {
      [`${PROJECT}:plan`]: "upgrade",
      [`${PROJECT}:stage`]: stage,
      [`${PROJECT}:cluster`]: JSON.stringify({ name: "test", kubeconfig: "kubeconfig", context: "test" }),
      [`${PROJECT}:upgrade`]: JSON.stringify({
        target: TARGET,
        drill: { node: "node-1" },
        etcd: { endpoints: ["https://127.0.0.1:2379"], cert: "etcd/client.crt", key: "etcd/client.key" },
        machine: { exec: ["ssh", "{node}", "--"] },
        ...options.upgrade,
      }),
    },
    PROJECT,
  );
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  const made = makeUpgradePlan(parsed.config, facts);
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  const target = made.plan.stages.findIndex((one) => one.name === stage);
  const stack = `organization/${PROJECT}/test`;
  const undone = [...(options.undone ?? [])];
  const record: ComposeArgs["record"] = {
    stack,
    plan: "upgrade",
    stage,
    came: undone.length === 0 ? "forward" : "back",
    undone,
    attempt: 3,
    since: 3,
  };
  const requests = await recorded(async () => {
    const outputs = composeStack({
      config: parsed.config,
      stack,
      plan: made.plan,
      target,
      record,
      settled: false,
      facts,
    });
    await Promise.all([settled(outputs.stage), settled(outputs.evidence)]);
  });
  return [root(), ...requests.map(viewOf)];
}

const settled = (output: pulumi.Output<unknown>): Promise<unknown> =>
  new Promise((resolve) => output.apply(resolve));

async function recorded(run: () => Promise<void>): Promise<Registered[]> {
  const requests: Registered[] = [];
  await pulumi.runtime.setMocks(
    {
      newResource: ({ type, name, inputs }) => ({
        id: `${name}-id`,
        state: {
          ...(inputs as object),
          ...(type === "command:local:Command" && { stdout: STDOUT, stderr: "" }),
        },
      }),
      call: ({ token }) => {
        throw new Error(`nobody expected a call of ${token}`);
      },
    },
    PROJECT,
    "test",
  );
  const monitor = pulumi.runtime.getMonitor();
  if (monitor === undefined) throw new Error("the mocks have no monitor");
  const register = monitor.registerResource.bind(monitor) as Register;
  const listening: Register = (request, reply) => {
    register(request, (error, response) => {
      if (response !== undefined) requests.push({ urn: response.getUrn(), request });
      reply(error, response);
    });
  };
  Object.assign(monitor, { registerResource: listening });
  await run();
  return requests;
}

interface Registered {
  readonly urn: string;
  readonly request: RegisterResourceRequest;
}

type Register = (
  request: RegisterResourceRequest,
  reply: (error: unknown, response: { getUrn(): string } | undefined) => void,
) => void;

const STDOUT = JSON.stringify({ summary: "", evidence: { file: "", sha256: "", finishedAt: "" }, facts: {} });

function root(): ResourceView {
  return resource({
    urn: `urn:pulumi:test::${PROJECT}::pulumi:pulumi:Stack::${PROJECT}-test`,
    custom: false,
    props: { facts },
  });
}

function viewOf({ urn, request }: Registered): ResourceView {
  const inputs = request.getObject()?.toJavaScript() ?? {};
  const isProvider = request.getType().startsWith("pulumi:providers:");
  const history = request.getIgnorechangesList().includes("stdin");
  const propertyDependencies: Record<string, string[]> = {};
  request.getPropertydependenciesMap().forEach((list, property) => {
    if (list.getUrnsList().length > 0) propertyDependencies[property] = list.getUrnsList();
  });
  return resource({
    urn,
    custom: request.getCustom() && !isProvider,
    props: asAtPreview(request.getType(), inputs, history),
    parent: request.getParent() === "" ? null : request.getParent(),
    dependencies: request.getDependenciesList(),
    propertyDependencies,
    opts: {
      protect: request.getProtect() === true,
      ignoreChanges: request.getIgnorechangesList(),
      deleteBeforeReplace: request.getDeletebeforereplace(),
      additionalSecretOutputs: request.getAdditionalsecretoutputsList(),
    },
  });
}

/** A command that was applied before keeps the document of that day, and its output; what a new one says is not known. */
function asAtPreview(
  type: string,
  inputs: Record<string, unknown>,
  history: boolean,
): Record<string, unknown> {
  if (type !== "command:local:Command") return inputs;
  const document = JSON.parse(String(inputs["stdin"])) as Record<string, unknown>;
  return history
    ? { ...inputs, stdin: JSON.stringify({ ...document, history: false }), stdout: STDOUT, stderr: "" }
    : { ...inputs, stdout: UNKNOWN, stderr: UNKNOWN };
}

/** Throws when it is touched, as at preview. Only below `props` of {@link resource}. */
export const UNKNOWN = unknownStringValue;

/** A resource by hand: type and name come from its URN. */
export function resource(given: Partial<ResourceView> & Pick<ResourceView, "urn">): ResourceView {
  const parts = given.urn.split("::");
  return {
    type: parts[2]?.split("$").at(-1) ?? "",
    name: parts[3] ?? "",
    custom: true,
    opts: { protect: false, ignoreChanges: [], deleteBeforeReplace: false, additionalSecretOutputs: [] },
    parent: null,
    dependencies: [],
    propertyDependencies: {},
    secrets: new Set(),
    ...given,
    props: unknownCheckingProxy(given.props === undefined ? {} : { ...raw(given.props) }),
  };
}

/** Behind the guard against unknown values: to copy and to change, in tests only. */
export function raw(props: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { __getSpecialProxyTarget: target } = props as { __getSpecialProxyTarget?: Record<string, unknown> };
  return target ?? props;
}

/** URN of a resource of this name, for resources by hand. */
export const urn = (type: string, name: string): string => `urn:pulumi:test::${PROJECT}::${type}::${name}`;
