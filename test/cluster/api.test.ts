import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Api, ApiError, UnreachableError } from "../../cluster/api.ts";
import { printTable } from "../../cluster/tables.ts";
import { failure, FakeServer, ok, unknown, withCertificates, type Handler } from "./fake-server.ts";

withCertificates();

const start = (handler: Handler): Promise<FakeServer> => FakeServer.start(handler);

async function caught(promise: Promise<unknown>): Promise<Error> {
  return await promise.then(
    () => {
      throw new Error("no error");
    },
    (error: unknown) => error as Error,
  );
}

describe.concurrent("a request", () => {
  it("sends method, body and content type, and reads JSON", async () => {
    const fake = await start((asked) => ok({ got: asked.body }));
    const body = await fake.api.request("/x?y=1", {
      method: "PATCH",
      body: { a: "ä" },
      contentType: "application/merge-patch+json",
    });
    expect(body).toEqual({ got: { a: "ä" } });
    const [asked] = fake.asked;
    expect(asked).toMatchObject({ method: "PATCH", path: "/x" });
    expect(asked?.query.get("y")).toBe("1");
    expect(asked?.headers["content-type"]).toBe("application/merge-patch+json");
    expect(asked?.headers.accept).toBe("application/json");
  });

  it("reads text that is no JSON as it is", async () => {
    const fake = await start(() => ok("ok"));
    expect(await fake.api.request("/readyz")).toBe("ok");
  });

  it("turns a Status into an error with its status, reason and message", async () => {
    const fake = await start(() => failure(403, "Forbidden", "pods is forbidden"));
    const error = await caught(fake.api.get("/api/v1/pods"));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 403, reason: "Forbidden" });
    expect(error.message).toBe("GET /api/v1/pods: 403 pods is forbidden");
  });

  it("survives an error that is no Status", async () => {
    const fake = await start(() => ({ status: 502, body: "<html>bad gateway</html>" }));
    expect((await caught(fake.api.get("/x"))).message).toBe("GET /x: 502 no message");
  });

  it("finds nothing where there is nothing, and only there", async () => {
    const fake = await start(({ path }) =>
      path === "/none" ? failure(404, "NotFound", "not found") : failure(500, "InternalError", "no"),
    );
    expect(await fake.api.find("/none")).toBeNull();
    expect(await caught(fake.api.find("/broken"))).toBeInstanceOf(ApiError);
  });

  it("gives up on a server that says nothing", async () => {
    const fake = await start(() => undefined);
    const before = performance.now();
    const error = await caught(fake.api.request("/x", { timeoutMs: 150 }));
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error.message).toContain("no answer within 0.15 s");
    expect(performance.now() - before).toBeLessThan(8_000);
  });

  it("gives up on an answer that stops in the middle", async () => {
    const fake = await start((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"half":');
      return undefined;
    });
    const error = await caught(fake.api.request("/x", { timeoutMs: 150 }));
    expect(error).toBeInstanceOf(UnreachableError);
  });

  it("tells an answer that was cut from one that is whole", async () => {
    const fake = await start((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write('{"half":');
      setTimeout(() => response.destroy(), 20);
      return undefined;
    });
    expect(await caught(fake.api.request("/x"))).toBeInstanceOf(UnreachableError);
  });

  it("names the server when nobody listens there", async () => {
    const fake = await start(unknown);
    await fake.stop();
    const error = await caught(fake.api.request("/x"));
    expect(error).toBeInstanceOf(UnreachableError);
    expect(error.message).toMatch(/^https:\/\/127\.0\.0\.1:\d+ does not answer: .*ECONNREFUSED/);
  });

  it("does not speak to a server with another authority's certificate", async () => {
    const fake = await start(() => ok({}));
    const { KubeConfig } = await import("@kubernetes/client-node");
    const config = new KubeConfig();
    config.loadFromFile(fake.access.kubeconfig);
    config.clusters = config.clusters.map(({ caFile: _, ...one }) => one);
    config.setCurrentContext("fake");
    expect(await caught(new Api(config).request("/x"))).toBeInstanceOf(UnreachableError);
    expect(fake.asked).toEqual([]);
  });
});

describe.concurrent("a list", () => {
  it("goes from page to page", async () => {
    const fake = await start(({ query }) => {
      const from = Number(query.get("continue") ?? "0");
      return ok({
        metadata: {
          resourceVersion: "42",
          ...(from < 4 ? { continue: String(from + 2) } : { continue: "" }),
        },
        items: [from, from + 1],
      });
    });
    expect(await fake.api.list("/api/v1/pods", { labelSelector: "a=b" })).toEqual({
      items: [0, 1, 2, 3, 4, 5],
      resourceVersion: "42",
    });
    expect(fake.asked.map((one) => one.query.get("continue"))).toEqual([null, "2", "4"]);
    expect(fake.asked.every((one) => one.query.get("labelSelector") === "a=b")).toBe(true);
    expect(fake.asked.every((one) => one.query.get("limit") === "500")).toBe(true);
  });

  it("takes a list without items for an empty one", async () => {
    const fake = await start(() => ok({ metadata: { resourceVersion: "1" }, items: null }));
    expect(await fake.api.list("/x")).toEqual({ items: [], resourceVersion: "1" });
  });

  it("begins again when its snapshot has expired between two pages", async () => {
    let expired = false;
    const fake = await start(({ query }) => {
      if (query.get("continue") === null)
        return ok({ metadata: { resourceVersion: "1", continue: "next" }, items: ["a"] });
      if (!expired) {
        expired = true;
        return failure(410, "Expired", "The provided continue parameter is too old");
      }
      return ok({ metadata: { resourceVersion: "1" }, items: ["b"] });
    });
    expect((await fake.api.list("/x")).items).toEqual(["a", "b"]);
  });
});

describe.concurrent("a watch", () => {
  const event = (type: string, name: string): string =>
    JSON.stringify({ type, object: { metadata: { name } } });

  /** Sends these pieces one by one, then ends (or not). */
  const sending =
    (pieces: readonly string[], end = true): Handler =>
    async (_, response) => {
      response.writeHead(200);
      for (const piece of pieces) {
        response.write(piece);
        await sleep(5);
      }
      if (end) response.end();
      return undefined;
    };

  async function names(fake: FakeServer, signal = new AbortController().signal): Promise<string[]> {
    const seen: string[] = [];
    for await (const one of fake.api.watch<{ metadata: { name: string } }>("/x", "7", signal))
      seen.push(`${one.type} ${one.object.metadata.name}`);
    return seen;
  }

  it("asks from a version on, with bookmarks, and passes these over", async () => {
    const fake = await start(
      sending([`${event("ADDED", "a")}\n${event("BOOKMARK", "b")}\n${event("DELETED", "c")}\n`]),
    );
    expect(await names(fake)).toEqual(["ADDED a", "DELETED c"]);
    expect(Object.fromEntries(fake.asked[0]?.query ?? [])).toMatchObject({
      watch: "true",
      resourceVersion: "7",
      allowWatchBookmarks: "true",
    });
  });

  it("puts together lines that come in pieces, also in the middle of a letter", async () => {
    const line = `${event("ADDED", "ä")}\n`;
    const bytes = Buffer.from(line + line);
    const middle = bytes.indexOf("ä") + 1;
    const fake = await start(async (_, response) => {
      response.writeHead(200);
      response.write(bytes.subarray(0, middle));
      await sleep(10);
      response.write(bytes.subarray(middle, middle + 5));
      await sleep(10);
      response.end(bytes.subarray(middle + 5));
      return undefined;
    });
    expect(await names(fake)).toEqual(["ADDED ä", "ADDED ä"]);
  });

  it("throws an ERROR event with its code", async () => {
    const fake = await start(
      sending([
        `${JSON.stringify({ type: "ERROR", object: { code: 410, reason: "Expired", message: "too old" } })}\n`,
      ]),
    );
    expect(await caught(names(fake))).toMatchObject({ status: 410, reason: "Expired" });
  });

  it("throws when it is refused", async () => {
    const fake = await start(() => failure(410, "Expired", "too old"));
    expect(await caught(names(fake))).toMatchObject({ status: 410 });
  });

  it("ends at once when it is told to", async () => {
    const fake = await start(sending([`${event("ADDED", "a")}\n`], false));
    const stop = new AbortController();
    setTimeout(() => {
      stop.abort();
    }, 50);
    const before = performance.now();
    await caught(names(fake, stop.signal));
    expect(performance.now() - before).toBeLessThan(8_000);
  });
});

describe.concurrent("a table", () => {
  const table = {
    columnDefinitions: [
      { name: "Name", priority: 0 },
      { name: "Ready", priority: 0 },
      { name: "Restarts", priority: 0 },
      { name: "Node", priority: 1 },
    ],
    rows: [{ cells: ["web-1", "1/1", 0, "node-1"] }, { cells: ["web-with-a-long-name", "", null, "node-2"] }],
  };

  it("has the server's own columns, aligned, and asks for them", async () => {
    const fake = await start(() => ok(table));
    expect(await printTable(fake.api, "/api/v1/pods", false)).toEqual([
      "NAME                   READY    RESTARTS",
      "web-1                  1/1      0",
      "web-with-a-long-name   <none>   <none>",
    ]);
    expect(fake.asked[0]?.headers.accept).toContain("as=Table;g=meta.k8s.io;v=v1");
  });

  it("has more columns when it is wide", async () => {
    const fake = await start(() => ok(table));
    const [head, first] = await printTable(fake.api, "/api/v1/pods", true);
    expect(head).toMatch(/RESTARTS {3}NODE$/);
    expect(first).toMatch(/node-1$/);
  });
});
