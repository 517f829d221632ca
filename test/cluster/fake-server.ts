/**
 * An API server's manners without a cluster: HTTPS with a certificate of its own, JSON, watches, and a record of all that
 * was asked. What nobody taught it to answer is a 500 and fails the test.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text as readText } from "node:stream/consumers";
import { beforeAll, expect } from "vitest";
import type { Api } from "../../cluster/api.ts";
import { openCluster } from "../../cluster/connect.ts";
import { createPki } from "../../lab/cluster/certificates.ts";
import { layoutOf } from "../../lab/cluster/layout.ts";
import type { Pki } from "../../lab/cluster/pki.ts";
import { afterwards, withCleanup } from "./cleanup.ts";

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
  readonly headers: IncomingMessage["headers"];
  /** Milliseconds since the server started. */
  readonly at: number;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Returns the answer, or undefined when it has written (or will write) to the response itself. */
export type Handler = (
  asked: Asked,
  response: ServerResponse,
) => Answer | undefined | Promise<Answer | undefined>;

let pki: Pki;
let folder: string;

/** To be called at the top of a test file: makes the certificates once. */
export function withCertificates(): void {
  withCleanup();
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "fake-api-"));
    afterwards(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    pki = await createPki(layoutOf(folder), "fake");
  });
}

export class FakeServer {
  readonly asked: Asked[] = [];
  readonly unexpected: string[] = [];
  readonly access: { readonly kubeconfig: string; readonly context: string };
  readonly api: Api;
  /** Connections are cut instead of answered while this is true. */
  away = false;
  readonly #server: https.Server;

  private constructor(server: https.Server, port: number) {
    this.#server = server;
    const file = path.join(mkdtempSync(path.join(folder, "config-")), "kubeconfig");
    writeFileSync(file, kubeconfig(port, pki));
    this.access = { kubeconfig: file, context: "fake" };
    this.api = openCluster(this.access);
  }

  static async start(handler: Handler): Promise<FakeServer> {
    const started = performance.now();
    const server = https.createServer({
      cert: readFileSync(pki.apiserver.cert),
      key: readFileSync(pki.apiserver.key),
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const fake = new FakeServer(server, (server.address() as AddressInfo).port);
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      void fake.#answer(handler, request, response, performance.now() - started);
    });
    afterwards(async () => {
      await fake.stop();
      expect(fake.unexpected, "requests that the fake does not know").toEqual([]);
    });
    return fake;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
  }

  /** Cuts what is open now: watches break, as when an API server restarts. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /** What was asked, as `METHOD path`. */
  lines(method?: string): string[] {
    return this.asked
      .filter((one) => method === undefined || one.method === method)
      .map((one) => `${one.method} ${one.path}`);
  }

  async #answer(
    handler: Handler,
    request: IncomingMessage,
    response: ServerResponse,
    at: number,
  ): Promise<void> {
    if (this.away) {
      request.socket.destroy();
      return;
    }
    const url = new URL(request.url ?? "/", "https://fake");
    const text = await readText(request);
    const asked: Asked = {
      method: request.method ?? "GET",
      path: url.pathname,
      query: url.searchParams,
      body: text === "" ? undefined : (JSON.parse(text) as unknown),
      headers: request.headers,
      at,
    };
    this.asked.push(asked);
    try {
      const answer = await handler(asked, response);
      if (answer === undefined) return;
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
    } catch (error) {
      this.unexpected.push(
        `${asked.method} ${asked.path}: ${error instanceof Error ? error.message : String(error)}`,
      );
      response.writeHead(500).end("{}");
    }
  }
}

/** A `Status` as API servers send it. */
export const failure = (status: number, reason: string, message: string): Answer => ({
  status,
  body: { kind: "Status", apiVersion: "v1", status: "Failure", code: status, reason, message },
});

export const ok = (body: unknown): Answer => ({ status: 200, body });

export function unknown(asked: Asked): never {
  throw new Error(`nobody taught me ${asked.method} ${asked.path}`);
}

function kubeconfig(port: number, { ca, admin }: Pki): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name: "fake",
        cluster: { server: `https://127.0.0.1:${port}`, "certificate-authority": ca.cert },
      },
    ],
    users: [{ name: "admin", user: { "client-certificate": admin.cert, "client-key": admin.key } }],
    contexts: [{ name: "fake", context: { cluster: "fake", user: "admin" } }],
    "current-context": "",
  });
}
