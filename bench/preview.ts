/** What this program adds to a preview, and what the policy pack adds to that: same engine, same plugins, same stack. */
import { cp, mkdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { ok, Engine, type EngineResult } from "../lab/engine/index.ts";
import { Bench } from "../lab/rehearsal/bench.ts";
import { upgradeConfig } from "../lab/rehearsal/upgrade-config.ts";
import type { BenchContext } from "./context.ts";
import { load } from "./machine.ts";
import { ratios, type BenchResult } from "./result.ts";

export interface PreviewBenchSettings {
  readonly rounds: number;
}

const STAGE = "drain";
/** Applied before, so that the preview of the stage is one that a reviewer sees. */
const BEFORE = ["inventory", "budget", "cordon"] as const;

export async function benchPreview(
  { project, labs, progress, signal }: BenchContext,
  { rounds }: PreviewBenchSettings,
): Promise<BenchResult> {
  const started = performance.now();
  const loadAtStart = load();
  const dir = path.join(labs, "preview");
  const bench = await Bench.open({
    project,
    dir: path.relative(project, dir),
    out: path.relative(project, path.join(dir, "out")),
    stack: "bench",
    lab: { name: "bench-preview" },
    policyPacks: [],
    progress,
    signal,
  });
  try {
    await bench.configure(upgradeConfig(bench));
    for (const stage of BEFORE) {
      ok(await bench.up(stage));
      progress(`preview: stage ${stage} applied`);
    }
    await bench.setStage(STAGE);
    const empty = await emptyProgram(bench, path.join(dir, "empty"));
    const packs = { policyPacks: [path.join(project, "policies")] };
    const subjects: Record<Subject, () => Promise<EngineResult>> = {
      "empty program": () => empty.preview(),
      "this program": () => bench.engine.preview(),
      "empty program with the policy pack": () => empty.preview(packs),
      "this program with the policy pack": () => bench.engine.preview(packs),
    };
    const seconds = await measure(subjects, rounds, progress, signal);
    const { "empty program": none, "empty program with the policy pack": nonePacked } = seconds;
    const { "this program": ours, "this program with the policy pack": oursPacked } = seconds;
    return {
      name: "preview",
      about: `\`pulumi preview\` of stage '${STAGE}' on a lab of three nodes against the same engine's preview of an empty program.`,
      settings: { rounds },
      loadAtStart,
      tookSeconds: (performance.now() - started) / 1_000,
      figures: [
        ratios("this program to the empty one", ours, none),
        ratios("this program to the empty one, both with the policy pack", oursPacked, nonePacked),
        ratios("policy pack: this program with it to without", oursPacked, ours),
        ...Object.entries(seconds).map(([name, values]) => ({ name, unit: "s" as const, values })),
      ],
    };
  } finally {
    await bench.close();
  }
}

type Subject =
  | "empty program"
  | "this program"
  | "empty program with the policy pack"
  | "this program with the policy pack";

async function measure(
  subjects: Record<Subject, () => Promise<EngineResult>>,
  rounds: number,
  progress: (line: string) => void,
  signal: AbortSignal,
): Promise<Record<Subject, number[]>> {
  const names = Object.keys(subjects) as Subject[];
  const seconds = Object.fromEntries(names.map((name): [Subject, number[]] => [name, []])) as Record<
    Subject,
    number[]
  >;
  // The first time of each fills Node's compile cache and the system's page cache; it is not counted.
  for (let round = 0; round <= rounds; round += 1) {
    // Another one begins each round.
    const order = names.map((_, index) => names[(index + round) % names.length] ?? names[index]);
    for (const name of order) {
      signal.throwIfAborted();
      if (name === undefined) continue;
      const result = ok(await subjects[name]());
      if (round > 0) seconds[name].push(result.milliseconds / 1_000);
    }
    if (round > 0) progress(`preview: round ${round} of ${rounds} done`);
  }
  return seconds;
}

/** A project of its own with the same packages, plugins, Pulumi.yaml and Node options, whose program declares nothing. */
async function emptyProgram(bench: Bench, folder: string): Promise<Engine> {
  const { projectDir, configFile: _ours, ...shared } = bench.engine.options;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await cp(path.join(projectDir, "Pulumi.yaml"), path.join(folder, "Pulumi.yaml"));
  const { dependencies } = JSON.parse(await readFile(path.join(projectDir, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const manifest = {
    name: "empty",
    private: true,
    version: "0.0.0",
    type: "module",
    main: "index.ts",
    dependencies,
  };
  await writeFile(path.join(folder, "package.json"), JSON.stringify(manifest));
  await symlink(path.join(projectDir, "node_modules"), path.join(folder, "node_modules"));
  await writeFile(path.join(folder, "index.ts"), "export default {};\n");
  const configFile = path.join(folder, "Pulumi.empty.yaml");
  await writeFile(configFile, "config: {}\n");
  const backendDir = path.join(folder, "state");
  const engine = await Engine.open({ ...shared, projectDir: folder, backendDir, stack: "empty", configFile });
  ok(await engine.initStack());
  return engine;
}
