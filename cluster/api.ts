/**
 * The few calls this program makes to an API server: JSON, server-printed tables and watches, each with a time limit.
 * Authentication (certificates, tokens, exec plugins, proxies) is the official client library's; its generated calls
 * have neither a time limit nor server-printed tables, so requests are made here.
 */
import type { IncomingMessage } from "node:http";
import https from "node:https";
import { text as readText } from "node:stream/consumers";
import type { KubeConfig } from "@kubernetes/client-node";

/** The API server answered, and its answer is no. */
export class ApiError extends Error {
  readonly status: number;
  /** `reason` of the returned Status, e.g. `NotFound`, `Conflict`, `TooManyRequests`. */
  readonly reason: string;
  readonly body: unknown;

  constructor(method: string, path: string, status: number, body: unknown) {
    const fields = (typeof body === "object" && body !== null ? body : {}) as {
      message?: unknown;
      reason?: unknown;
    };
    const message = typeof fields.message === "string" ? fields.message : "no message";
    super(`${method} ${path}: ${status} ${message}`);
    this.name = "ApiError";
    this.status = status;
    this.reason = typeof fields.reason === "string" ? fields.reason : "";
    this.body = body;
  }
}

/** No answer: connection refused, reset, timed out, or TLS that does not fit. */
export class UnreachableError extends Error {
  constructor(server: string, cause: unknown) {
    super(`${server} does not answer: ${cause instanceof Error ? describeCause(cause) : String(cause)}`, {
      cause,
    });
    this.name = "UnreachableError";
  }
}

function describeCause(error: Error): string {
  if (error instanceof AggregateError)
    return error.errors.map((one) => (one instanceof Error ? one.message : String(one))).join("; ");
  return error.message;
}

export interface Request {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly body?: unknown;
  readonly contentType?: string;
  readonly accept?: string;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** How long authentication options are reused; exec plugins hand out tokens that live for minutes. */
const AUTH_TTL_MS = 60_000;
const LIST_ATTEMPTS = 3;
/** Idle connections are closed before a load balancer in front of the API server forgets them. */
const IDLE_MS = 15_000;

export class Api {
  readonly server: string;
  readonly #config: KubeConfig;
  /** The library's own agent makes a TLS handshake for every request; during a drain they are most of the work. */
  readonly #agent = new https.Agent({ keepAlive: true, timeout: IDLE_MS });
  #auth: { options: https.RequestOptions; until: number } | undefined;

  constructor(config: KubeConfig) {
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw new Error("the kubeconfig has no cluster for this context");
    this.server = cluster.server;
    this.#config = config;
  }

  /**
   * @returns the parsed JSON body (the text itself when it is not JSON)
   * @throws ApiError for a status of 400 and above, UnreachableError when nothing answers within the limit
   */
  async request(path: string, request: Request = {}): Promise<unknown> {
    const method = request.method ?? "GET";
    const response = await this.#send(path, request, method);
    const text = await readText(response).catch((error: unknown) => {
      throw new UnreachableError(this.server, error);
    });
    const body = parse(text);
    const status = response.statusCode ?? 0;
    if (status >= 400) throw new ApiError(method, path, status, body);
    return body;
  }

  async get<T>(path: string, options: Omit<Request, "method" | "body"> = {}): Promise<T> {
    return (await this.request(path, options)) as T;
  }

  /** Like `get`, but null where the object does not exist. */
  async find<T>(path: string): Promise<T | null> {
    try {
      return await this.get<T>(path);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  /**
   * All items of a collection, page by page, with the resource version of their snapshot. A snapshot that expires between
   * two pages (410) is left for a new one.
   */
  async list<T>(
    path: string,
    query: Readonly<Record<string, string>> = {},
  ): Promise<{ items: T[]; resourceVersion: string }> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#pages<T>(path, query);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 410 || attempt === LIST_ATTEMPTS) throw error;
      }
    }
  }

  async #pages<T>(
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<{ items: T[]; resourceVersion: string }> {
    const items: T[] = [];
    let token: string | undefined;
    let resourceVersion = "";
    do {
      const search = new URLSearchParams({
        ...query,
        limit: "500",
        ...(token === undefined ? {} : { continue: token }),
      });
      const page = await this.get<{
        items?: T[] | null;
        metadata?: { continue?: string; resourceVersion?: string };
      }>(`${path}?${search.toString()}`);
      items.push(...(page.items ?? []));
      resourceVersion = page.metadata?.resourceVersion ?? resourceVersion;
      token = page.metadata?.continue === "" ? undefined : page.metadata?.continue;
    } while (token !== undefined);
    return { items, resourceVersion };
  }

  /** Changes from `resourceVersion` on, until the server ends the watch (it does so every few minutes) or `signal` fires. */
  async *watch<T>(
    path: string,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncGenerator<{ type: "ADDED" | "MODIFIED" | "DELETED"; object: T }> {
    const search = new URLSearchParams({
      watch: "true",
      resourceVersion,
      allowWatchBookmarks: "true",
      timeoutSeconds: "240",
    });
    const response = await this.#send(`${path}?${search.toString()}`, { signal, timeoutMs: 120_000 }, "GET");
    if ((response.statusCode ?? 0) >= 400)
      throw new ApiError("GET", path, response.statusCode ?? 0, parse(await readText(response)));
    let rest = "";
    response.setEncoding("utf8");
    for await (const chunk of response) {
      const lines = (rest + String(chunk)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const event = JSON.parse(line) as { type: string; object: T };
        if (event.type === "ERROR")
          throw new ApiError("WATCH", path, (event.object as { code?: number }).code ?? 410, event.object);
        if (event.type === "ADDED" || event.type === "MODIFIED" || event.type === "DELETED") {
          yield { type: event.type, object: event.object };
        }
      }
    }
  }

  async #send(path: string, request: Request, method: string): Promise<IncomingMessage> {
    const auth = await this.#options();
    const url = new URL(this.server.replace(/\/$/, "") + path);
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = https.request(
        url,
        {
          ...auth,
          method,
          timeout: request.timeoutMs ?? 10_000,
          ...(request.signal === undefined ? {} : { signal: request.signal }),
          headers: {
            ...(auth.headers as Record<string, string> | undefined),
            accept: request.accept ?? "application/json",
            ...(body === undefined
              ? {}
              : {
                  "content-type": request.contentType ?? "application/json",
                  "content-length": Buffer.byteLength(body),
                }),
          },
        },
        resolve,
      );
      sent.on("timeout", () =>
        sent.destroy(new Error(`no answer within ${(request.timeoutMs ?? 10_000) / 1000} s`)),
      );
      sent.on("error", (error) => {
        reject(request.signal?.aborted === true ? error : new UnreachableError(this.server, error));
      });
      sent.end(body);
    });
  }

  async #options(): Promise<https.RequestOptions> {
    if (this.#auth === undefined || Date.now() > this.#auth.until) {
      const options: https.RequestOptions = {};
      await this.#config.applyToHTTPSOptions(options);
      // Agents for proxies are of other classes and stay.
      if (options.agent instanceof https.Agent) options.agent = this.#agent;
      this.#auth = { options, until: Date.now() + AUTH_TTL_MS };
    }
    return this.#auth.options;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
