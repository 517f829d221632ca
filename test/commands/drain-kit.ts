/** What the tests of drains share. */
import { readFileSync } from "node:fs";
import { Refusal } from "../../commands/context.ts";
import type { DrainSpec } from "../../commands/drain/index.ts";
import type { Entry } from "../../commands/drain/journal.ts";
import { FakeCluster } from "../cluster/fake-cluster.ts";

export const spec = (nodes: readonly string[], more: Partial<DrainSpec> = {}): DrainSpec => ({
  nodes: [...nodes],
  acknowledge: [],
  maxNodesAtOnce: 1,
  timeoutSeconds: 20,
  readySeconds: 1,
  terminationSeconds: 1,
  since: 1,
  ...more,
});

/** Three nodes to drain and one to go to. */
export async function cluster(): Promise<FakeCluster> {
  const fake = await FakeCluster.start();
  for (const name of ["old-1", "old-2", "old-3", "new-1"]) fake.node(name);
  return fake;
}

export async function refusal(promise: Promise<unknown>): Promise<Refusal> {
  const error: unknown = await promise.then(
    () => {
      throw new Error("no refusal");
    },
    (reason: unknown) => reason,
  );
  if (!(error instanceof Refusal)) throw error;
  return error;
}

export const journal = (file: string): Entry[] =>
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Entry);

export const times = (values: readonly string[]): Record<string, number> =>
  Object.fromEntries(values.map((value) => [value, values.filter((one) => one === value).length]));
