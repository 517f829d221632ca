/** An engine that only writes down what is declared. A resource of a type that nobody named is an error. */
import * as pulumi from "@pulumi/pulumi";
import type { RegisterResourceRequest } from "@pulumi/pulumi/proto/resource_pb.js";

export interface Declared {
  readonly type: string;
  readonly name: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly protect: boolean;
  readonly ignoreChanges: readonly string[];
  /** Names of what it waits for. */
  readonly dependsOn: readonly string[];
  readonly parent: string;
  readonly timeouts: { readonly create: string; readonly update: string };
}

const KNOWN: ReadonlySet<string> = new Set([
  "command:local:Command",
  "kubernetes:apps/v1:Deployment",
  "kubernetes:core/v1:ConfigMap",
  "kubernetes:core/v1:Namespace",
  "kubernetes:core/v1:NodePatch",
  "kubernetes:policy/v1:PodDisruptionBudget",
  "pulumi:providers:kubernetes",
]);

/** What a command prints, by the name of its resource. */
type Printed = (name: string) => unknown;

const printed: Printed = (name) => ({
  summary: "done",
  evidence: { file: `evidence/${name}.json`, sha256: "abc", finishedAt: "2026-01-01T00:00:00.000Z" },
  facts: {},
});

type Register = (
  request: RegisterResourceRequest,
  reply: (error: unknown, response: unknown) => void,
) => void;

/** Declares with `make`, and returns what was declared beside what it returned. Throws for a type that nobody named. */
export async function declare<T>(make: () => T): Promise<{ made: T; declared: readonly Declared[] }> {
  const requests: RegisterResourceRequest[] = [];
  await pulumi.runtime.setMocks(
    {
      newResource: ({ type, name, inputs }) => {
        const state = inputs as Record<string, unknown>;
        const stdout = type === "command:local:Command" ? { stdout: JSON.stringify(printed(name)) } : {};
        return { id: isComponent(type) ? undefined : `${name}-id`, state: { ...state, ...stdout } };
      },
      call: ({ token }) => {
        throw new Error(`nobody named ${token}`);
      },
    },
    "cluster-migration",
    "test",
    false,
  );
  // The mocks hide what a resource waits for; the requests behind them do not.
  const monitor = pulumi.runtime.getMonitor();
  if (monitor === undefined) throw new Error("the mocks have no monitor");
  const register = monitor.registerResource.bind(monitor) as Register;
  const listening: Register = (request, reply) => {
    requests.push(request);
    register(request, reply);
  };
  Object.assign(monitor, { registerResource: listening });
  const made = make();
  await settled(() => requests.length);
  const strangers = requests
    .map((one) => one.getType())
    .filter((type) => !isComponent(type) && !KNOWN.has(type));
  if (strangers.length > 0) throw new Error(`nobody named ${strangers.join(", ")}`);
  return { made, declared: requests.map(declaredOf) };
}

const isComponent = (type: string): boolean => type.startsWith("cluster-migration:index:");
const urnName = (urn: string): string => urn.split("::").at(-1) ?? "";

function declaredOf(request: RegisterResourceRequest): Declared {
  const timeouts = request.getCustomtimeouts();
  return {
    type: request.getType(),
    name: request.getName(),
    inputs: request.getObject()?.toJavaScript() ?? {},
    protect: request.getProtect() ?? false,
    ignoreChanges: request.getIgnorechangesList(),
    dependsOn: request.getDependenciesList().map(urnName),
    parent: urnName(request.getParent()),
    timeouts: { create: timeouts?.getCreate() ?? "", update: timeouts?.getUpdate() ?? "" },
  };
}

/** Registration goes on in promises that nobody hands out: over when nothing was added for a while. */
async function settled(count: () => number): Promise<void> {
  for (let quiet = 0, last = -1; quiet < 5;) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    quiet = count() === last ? quiet + 1 : 0;
    last = count();
  }
}

export function valueOf<T>(output: pulumi.Output<T>): Promise<T> {
  return new Promise((resolve) => {
    output.apply((value) => {
      resolve(value);
    });
  });
}
