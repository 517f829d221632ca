import { spawn, type ChildProcess } from "node:child_process";
import { createServer } from "node:net";
import { resolve } from "node:path";
import { Api, list, text, type Json } from "../../lab/cluster/api.ts";
import { isAlive } from "../../lab/cluster/identity.ts";
import type { Lab } from "../../lab/cluster/index.ts";
import { layoutOf } from "../../lab/cluster/layout.ts";
import { isReady } from "../../lab/cluster/objects.ts";
import { pkiOf } from "../../lab/cluster/pki.ts";
import { recordedProcesses } from "../../lab/cluster/process.ts";

export const root = resolve(import.meta.dirname, "../..");
export const MINUTE = 60_000;

export interface Ran {
  readonly code: number | null;
  readonly out: string;
}

export function launch(file: string, args: readonly string[]): { child: ChildProcess; done: Promise<Ran> } {
  const child = spawn(file, args, { cwd: root, stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  const keep = (chunk: Buffer): void => {
    out += chunk.toString();
  };
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const done = new Promise<Ran>((finished) =>
    child.once("close", (code) => {
      finished({ code, out });
    }),
  );
  return { child, done };
}

export const labCommand = (...args: string[]): ReturnType<typeof launch> =>
  launch(process.execPath, ["lab/cli.ts", ...args]);

export function onNode(dir: string, node: string, ...command: string[]): ReturnType<typeof launch> {
  return launch(resolve(root, "lab/bin/on-node"), ["--lab", dir, node, "--", ...command]);
}

export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  const deadline = Date.now() + limitMs;
  while (!(await check())) {
    if (Date.now() > deadline) throw new Error(`not within ${limitMs} ms: ${what}`);
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

export async function connect(lab: Lab): Promise<Api> {
  const pki = pkiOf(layoutOf(lab.dir));
  return Api.connect(lab.apiServer, pki.ca.cert, pki.admin);
}

/** The processes of a lab that are alive now. */
export async function living(dir: string): Promise<string[]> {
  const found: string[] = [];
  for (const [name, id] of await recordedProcesses(layoutOf(dir))) if (await isAlive(id)) found.push(name);
  return found;
}

export function canListen(port: number): Promise<boolean> {
  return new Promise((answer) => {
    const server = createServer();
    server.once("error", () => {
      answer(false);
    });
    server.listen(port, "127.0.0.1", () =>
      server.close(() => {
        answer(true);
      }),
    );
  });
}

/** The pods of the Deployment `web`. */
export async function webPods(api: Api): Promise<readonly Json[]> {
  return list(await api.get("/api/v1/namespaces/default/pods?labelSelector=app%3Dweb"), "items");
}

export async function readyWebPods(api: Api): Promise<number> {
  const pods = await webPods(api);
  return pods.filter((pod) => isReady(pod) && text(pod, "metadata", "deletionTimestamp") === undefined)
    .length;
}

/** A Deployment `web` and a budget for it, of which two pods must stay. */
export async function deployWeb(api: Api, replicas: number): Promise<void> {
  const labels = { app: "web" };
  await api.post("/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "web" }] } },
    },
  });
  await api.post("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {
    apiVersion: "policy/v1",
    kind: "PodDisruptionBudget",
    metadata: { name: "web" },
    spec: { minAvailable: 2, selector: { matchLabels: labels } },
  });
}
