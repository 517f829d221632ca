import { z } from "zod";
import { LabConfigSchema } from "./config.ts";
import { LabError, messageOf } from "./errors.ts";
import { readIfThere, writeAtomic } from "./files.ts";
import { COMPONENTS, type Layout } from "./layout.ts";

const Port = z.int().min(1).max(65_535);

const ComponentState = z.strictObject({
  /** Without a leading `v` for etcd, with one for Kubernetes and kwok, as the programs themselves report it. */
  version: z.string(),
  /** The program's file. */
  file: z.string(),
});

const State = z.strictObject({
  format: z.literal(1),
  name: z.string(),
  createdAt: z.iso.datetime(),
  /** `starting` until all is ready once; a lab whose start was killed stays in it. */
  phase: z.enum(["starting", "ready"]),
  config: LabConfigSchema,
  ports: z.strictObject({
    etcdClient: Port,
    etcdPeer: Port,
    apiserver: Port,
    controllerManager: Port,
    scheduler: Port,
    kwok: Port,
  }),
  components: z.record(z.enum(COMPONENTS), ComponentState),
  /** Present while `kubeadm upgrade apply` is at work: what it goes to. Survives a kill, so that it can go on. */
  upgradingTo: z.string().optional(),
});

/** A lab's own record, `lab.json`: what runs, in which version, on which ports. */
export type LabState = z.output<typeof State>;

export async function readState(layout: Layout): Promise<LabState | undefined> {
  const text = await readIfThere(layout.state);
  if (text === undefined) return undefined;
  try {
    return State.parse(JSON.parse(text));
  } catch (error) {
    throw new LabError(
      `${layout.state} is not a lab's state file that this version reads: ${messageOf(error)}\nrepair: \`lab down --dir ${layout.dir}\`, then \`lab up\` again`,
    );
  }
}

/** The state of a lab that must be there. */
export async function requireState(layout: Layout): Promise<LabState> {
  const state = await readState(layout);
  if (!state) {
    throw new LabError(
      `there is no lab in ${layout.dir} (no lab.json); start one: \`lab up --dir ${layout.dir}\``,
    );
  }
  return state;
}

export async function writeState(layout: Layout, state: LabState): Promise<void> {
  await writeAtomic(layout.state, `${JSON.stringify(State.parse(state), undefined, 2)}\n`, 0o644);
}
