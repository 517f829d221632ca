/** Contexts for commands under test: a folder of their own, progress that is kept, a signal that can be fired. */
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Api } from "../../cluster/api.ts";
import type { Context } from "../../commands/context.ts";
import type { CommandDocument } from "../../commands/document.ts";
import { afterwards } from "../cluster/cleanup.ts";

export interface TestContext extends Context {
  readonly out: string;
  readonly lines: string[];
  readonly stop: (reason: string) => void;
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "command-"));
  afterwards(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

export const document = (more: Partial<CommandDocument> = {}): CommandDocument => ({
  command: "drain",
  stack: "o/p/s",
  plan: "upgrade",
  stage: "drain",
  irreversible: false,
  history: false,
  cluster: { kubeconfig: "kubeconfig", context: "fake" },
  bound: { clusterUid: "cluster-uid", nodes: {} },
  out: "out",
  spec: {},
  ...more,
});

export function testContext(
  api: Api,
  more: {
    readonly document?: Partial<CommandDocument>;
    readonly input?: unknown;
    readonly out?: string;
  } = {},
): TestContext {
  const out = more.out ?? temporaryFolder();
  const stop = new AbortController();
  const lines: string[] = [];
  return {
    document: document({ ...more.document, out }),
    input: more.input ?? null,
    api,
    signal: stop.signal,
    progress: (line) => lines.push(line),
    now: () => new Date(),
    artefact: (name, text) => {
      writeFileSync(path.join(out, name), text);
      return Promise.resolve(path.join(out, name));
    },
    path: (...parts) => {
      const file = path.join(out, ...parts);
      mkdirSync(path.dirname(file), { recursive: true });
      return Promise.resolve(file);
    },
    out,
    lines,
    stop: (reason) => {
      stop.abort(new Error(reason));
    },
  };
}

/** For commands that must not speak to the cluster. */
export const untouchable: Api = new Proxy<Api>(Object.create(null) as Api, {
  get: (_, name) => {
    throw new Error(`the cluster was asked: ${String(name)}`);
  },
});
