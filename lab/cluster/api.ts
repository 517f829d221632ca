import { request as httpRequest } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { readFile } from "node:fs/promises";
import { LabError } from "./errors.ts";
import type { Pair } from "./pki.ts";

export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** What the lab needs of HTTP: one request on loopback, over TLS when an authority is given, with a limit. */
export interface Trust {
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
}

export function exchange(
  url: string,
  options: {
    method?: string;
    body?: string;
    contentType?: string;
    trust?: Trust | undefined;
    agent?: Agent;
    timeoutMs?: number;
  } = {},
): Promise<Answer> {
  const {
    method = "GET",
    body,
    contentType = "application/json",
    trust,
    agent,
    timeoutMs = 10_000,
  } = options;
  return new Promise((resolve, reject) => {
    const headers =
      body === undefined ? {} : { "content-type": contentType, "content-length": Buffer.byteLength(body) };
    const common = { method, headers, signal: AbortSignal.timeout(timeoutMs) };
    const request = url.startsWith("https:")
      ? httpsRequest(url, { ...common, ...trust, agent: agent ?? false })
      : httpRequest(url, { ...common, agent: false });
    const failed = (error: Error): void => {
      const late = error.name === "AbortError" || error.name === "TimeoutError";
      reject(late ? new LabError(`${method} ${url} was not answered within ${timeoutMs / 1000} s`) : error);
    };
    request.once("error", failed);
    request.once("response", (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("error", failed);
      response.once("end", () => {
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") });
      });
    });
    request.end(body);
  });
}

/** A JSON document as the API server gives it; callers read it through `field`. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** The value at a path of keys and indexes, or undefined. */
export function field(json: Json | undefined, ...path: (string | number)[]): Json | undefined {
  let at: Json | undefined = json;
  for (const part of path) {
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string | number, Json>)[part];
  }
  return at;
}

export function text(json: Json | undefined, ...path: (string | number)[]): string | undefined {
  const value = field(json, ...path);
  return typeof value === "string" ? value : undefined;
}

export function list(json: Json | undefined, ...path: (string | number)[]): readonly Json[] {
  const value = field(json, ...path);
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

export class ApiError extends LabError {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/**
 * The lab's own client of the API server: a handful of JSON requests as the administrator. The full client takes
 * longer to load than `on-node` has to run.
 */
export class Api {
  readonly #url: string;
  readonly #agent: Agent;

  private constructor(url: string, agent: Agent) {
    this.#url = url;
    this.#agent = agent;
  }

  static async connect(url: string, ca: string, admin: Pair): Promise<Api> {
    const [authority, cert, key] = await Promise.all([
      readFile(ca, "utf8"),
      readFile(admin.cert, "utf8"),
      readFile(admin.key, "utf8"),
    ]);
    return new Api(url, new Agent({ ca: authority, cert, key, keepAlive: true, maxSockets: 16 }));
  }

  close(): void {
    this.#agent.destroy();
  }

  get(path: string): Promise<Json> {
    return this.#json("GET", path);
  }

  post(path: string, body: Json): Promise<Json> {
    return this.#json("POST", path, body);
  }

  patch(path: string, body: Json): Promise<Json> {
    return this.#json("PATCH", path, body, "application/merge-patch+json");
  }

  /** Server-side apply: makes the object, or brings it to what is written. */
  apply(path: string, body: Json): Promise<Json> {
    return this.#json("PATCH", `${path}?fieldManager=lab&force=true`, body, "application/apply-patch+yaml");
  }

  /** Deletes an object; one that is not there is fine. */
  async remove(path: string): Promise<void> {
    const answer = await exchange(`${this.#url}${path}`, { method: "DELETE", agent: this.#agent });
    if (answer.status >= 400 && answer.status !== 404) throw refused("DELETE", path, answer);
  }

  async #json(method: string, path: string, body?: Json, contentType?: string): Promise<Json> {
    const answer = await exchange(`${this.#url}${path}`, {
      method,
      agent: this.#agent,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    if (answer.status >= 400) throw refused(method, path, answer);
    return JSON.parse(answer.text) as Json;
  }
}

function refused(method: string, path: string, answer: Answer): ApiError {
  return new ApiError(
    `the API server answered ${method} ${path} with ${answer.status}: ${answer.text}`,
    answer.status,
  );
}
