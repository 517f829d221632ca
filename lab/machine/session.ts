import { appendFile } from "node:fs/promises";
import { Api } from "../cluster/api.ts";
import { apiserverUrl } from "../cluster/components.ts";
import { logOf, type Layout } from "../cluster/layout.ts";
import { pkiOf } from "../cluster/pki.ts";
import { requireState, type LabState } from "../cluster/state.ts";
import type { Fault } from "./faults.ts";
import { readMachine, writeMachine, type Machine } from "./state.ts";

/** One command on one machine: what it sees and what it can do. */
export interface Session {
  readonly layout: Layout;
  readonly node: string;
  /** The fault that strikes this command, if one does. */
  readonly fault: Fault | undefined;
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /** A line for `logs/machine-<node>.log` only. */
  note(line: string): Promise<void>;
  machine(): Promise<Machine>;
  save(machine: Machine): Promise<void>;
  lab(): Promise<LabState>;
  /** Runs `work` with a client of the API server. */
  withApi<T>(work: (api: Api) => Promise<T>): Promise<T>;
}

export function openSession(layout: Layout, node: string, fault: Fault | undefined): Session {
  return {
    layout,
    node,
    fault,
    out: (line) => void process.stdout.write(`${line}\n`),
    err: (line) => void process.stderr.write(`${line}\n`),
    note: (line) => noteOf(layout, node, line),
    machine: () => readMachine(layout, node),
    save: (machine) => writeMachine(layout, machine),
    lab: () => requireState(layout),
    withApi: async (work) => {
      const pki = pkiOf(layout);
      const api = await Api.connect(apiserverUrl(await requireState(layout)), pki.ca.cert, pki.admin);
      try {
        return await work(api);
      } finally {
        api.close();
      }
    },
  };
}

export async function noteOf(layout: Layout, node: string, line: string): Promise<void> {
  await appendFile(logOf(layout, `machine-${node}`), `${new Date().toISOString()} ${line}\n`);
}
