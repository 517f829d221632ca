/** The example stack Pulumi.prod.yaml, as the engine hands it over, and the cluster that it is written for. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import type { CarriedFacts } from "../../plans/facts.ts";

export const ROOT = path.resolve(import.meta.dirname, "../..");

export const page = (name: string): string => readFileSync(path.join(ROOT, name), "utf8");

/** Texts as they are, everything else as JSON: what `pulumi.runtime.allConfig()` returns. */
export function exampleConfig(): Record<string, string> {
  const { config } = z
    .object({ config: z.record(z.string(), z.unknown()) })
    .parse(parseYaml(page("Pulumi.prod.yaml")));
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [
      key,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  );
}

const worker = (number: number): string => `worker-${String(number).padStart(2, "0")}`;

/** Three control planes, ten workers, one minor below the example's target. */
export const exampleFacts: CarriedFacts = {
  clusterUid: "0",
  serverVersion: "v1.34.4",
  nodes: [
    ...["cp-1", "cp-2", "cp-3"].map((name) => ({ name, controlPlane: true })),
    ...Array.from({ length: 10 }, (_, index) => ({ name: worker(index + 1), controlPlane: false })),
  ].map((node) => ({ ...node, uid: `uid-of-${node.name}`, kubeletVersion: "v1.34.4" })),
};
