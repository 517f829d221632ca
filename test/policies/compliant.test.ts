import { expect, test } from "vitest";
import { reports } from "./judge.ts";
import { program, type ProgramOptions } from "./program.ts";

const FORWARD = [
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
];

const UNDOABLE = ["budget", "cordon", "drain", "uncordon", "plan", "snapshot"];

const cases: [string, string, ProgramOptions][] = [
  ...FORWARD.map((stage): [string, string, ProgramOptions] => [`forward to ${stage}`, stage, {}]),
  ...["inventory", ...UNDOABLE].slice(0, -1).map((stage, index): [string, string, ProgramOptions] => {
    const undone = UNDOABLE.slice(index).reverse();
    return [`back to ${stage} over ${undone.join(", ")}`, stage, { undone }];
  }),
  [
    "two machines of the control plane",
    "control-plane-others",
    { upgrade: { controlPlane: ["node-0", "node-1"] } },
  ],
  ["a canary after both", "canary", { upgrade: { controlPlane: ["node-0", "node-1"] } }],
  ["one batch only, at its end", "batch1", { upgrade: { rollout: { canary: "node-0", batchSizes: [2] } } }],
];

test.each(cases)("the program keeps every rule: %s", async (_, stage, options) => {
  const views = await program(stage, options);
  expect(reports(views)).toEqual([]);
  expect(reports(views, "advisory")).toEqual([]);
});
