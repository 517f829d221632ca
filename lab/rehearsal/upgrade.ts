/** The rehearsal of plan `upgrade`: every stage previewed, applied, and applied again; the way back; the artefacts. */
import { operations, type EngineResult } from "../engine/index.ts";
import type { Bench } from "./bench.ts";
import type { Report } from "./report.ts";
import { upgradeConfig } from "./upgrade-config.ts";

/** In order. The first six are gone through a second time after going all the way back. */
export const STAGES = [
  "inventory",
  "budget",
  "cordon",
  "drain",
  "uncordon",
  "plan",
  "snapshot",
  "control-plane",
  "canary",
  "batch1",
  "batch2",
] as const;

export async function rehearseUpgrade(bench: Bench, report: Report): Promise<void> {
  await bench.configure(upgradeConfig(bench));
  await report.step("drain", "is refused on a new stack", async () =>
    refused(await bench.preview("drain"), "STAGE-SKIPPED"),
  );
  for (const stage of STAGES) {
    await report.step(stage, "preview", async () => passed(await bench.preview(stage)));
    await report.step(stage, "up", async () => passed(await bench.up(stage)));
    await report.step(stage, "preview again: no change", async () => unchanged(await bench.preview(stage)));
    if (stage === "uncordon") {
      await report.step("budget", "back: uncordon, drain and cordon undone", async () =>
        passed(await bench.up("budget")),
      );
      for (const again of ["cordon", "drain", "uncordon"] as const) {
        await report.step(again, "forward again", async () => passed(await bench.up(again)));
      }
    }
  }
  await report.step("plan", "going back across the upgrade is refused", async () =>
    refused(await bench.preview("plan"), "STAGE-NO-WAY-BACK"),
  );
}

function passed(result: EngineResult): string {
  if (result.code !== 0) throw new Error(said(result));
  return summary(result);
}

function unchanged(result: EngineResult): string {
  passed(result);
  const changes = [...operations(result.events)].filter(([, ops]) =>
    ops.some((op) => op !== "same" && op !== "read"),
  );
  if (changes.length > 0) {
    throw new Error(
      `changes: ${changes.map(([name, ops]) => `${name} (${ops.join(", ")})`).join(", ")}\n${said(result)}`,
    );
  }
  return "no change";
}

function refused(result: EngineResult, code: string): string {
  if (result.code === 0) throw new Error(`was not refused:\n${result.stdout}`);
  if (!result.stdout.includes(code))
    throw new Error(`was refused for another reason than ${code}:\n${said(result)}`);
  return `refused with ${code}`;
}

function said(result: EngineResult): string {
  return `${result.command} ended with ${result.code ?? result.signal ?? "nothing"}\n${result.stdout}\n${result.stderr}`;
}

function summary(result: EngineResult): string {
  const counts = new Map<string, number>();
  for (const op of [...operations(result.events).values()].flat()) counts.set(op, (counts.get(op) ?? 0) + 1);
  return [...counts].map(([op, count]) => `${count} ${op}`).join(", ");
}
