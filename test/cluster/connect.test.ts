import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ApiError, UnreachableError } from "../../cluster/api.ts";
import { ConnectError, expandHome, openCluster, unreachable } from "../../cluster/connect.ts";
import { readRecord } from "../../cluster/record.ts";
import { failure, FakeServer, ok, withCertificates } from "./fake-server.ts";

withCertificates();

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "connect-"));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function problem(content: string | null, context = "prod") {
  const file = path.join(folder, "kubeconfig");
  if (content === null) rmSync(file, { force: true });
  else writeFileSync(file, content);
  try {
    openCluster({ kubeconfig: file, context });
  } catch (error) {
    if (!(error instanceof ConnectError)) throw error;
    expect(error.finding.severity).toBe("refuse");
    expect(error.finding.subject).toMatch(/^cluster-migration:cluster\.(kubeconfig|context)$/);
    return error.finding;
  }
  throw new Error("opened");
}

const KUBECONFIG = JSON.stringify({
  clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1" } }],
  users: [{ name: "u", user: {} }],
  contexts: [
    { name: "prod-eu", context: { cluster: "c", user: "u" } },
    { name: "broken", context: { cluster: "nowhere", user: "u" } },
  ],
  "current-context": "prod-eu",
});

describe("the way to a cluster", () => {
  it("does not exist without the file", () => {
    expect(problem(null)).toMatchObject({ code: "CLUSTER-KUBECONFIG" });
  });

  it("does not exist where the file is no kubeconfig", () => {
    expect(problem("{not: [yaml").message).toContain("cannot be read as a kubeconfig");
    expect(problem("just text").code).toMatch(/^CLUSTER-/);
    expect(problem("").code).toMatch(/^CLUSTER-/);
  });

  it("never leads to the current context by chance, and suggests the nearest one", () => {
    const finding = problem(KUBECONFIG, "prod-eo");
    expect(finding).toMatchObject({ code: "CLUSTER-CONTEXT", rule: "the contexts there: prod-eu, broken" });
    expect(finding.repair).toContain("did you mean 'prod-eu'?");
  });

  it("does not exist where the context names a cluster that the file lacks", () => {
    expect(problem(KUBECONFIG, "broken").message).toContain("broken");
  });

  it("may begin at home", () => {
    expect(expandHome("~/.kube/config")).toBe(path.join(homedir(), ".kube/config"));
    expect(expandHome("~")).toBe(homedir());
    expect(expandHome("~other/x")).toBe("~other/x");
    expect(expandHome("a/~/b")).toBe("a/~/b");
  });
});

describe("a call that failed", () => {
  it("for want of an answer is a reason to wait", () => {
    expect(unreachable(new UnreachableError("https://x", new Error("ECONNREFUSED")))).toMatchObject({
      code: "CLUSTER-UNREACHABLE",
      severity: "hold",
      message: "https://x does not answer: ECONNREFUSED",
    });
  });

  it.each([401, 403])("with %i is not", (status) => {
    expect(unreachable(new ApiError("GET", "/x", status, { message: "no" }))).toMatchObject({
      code: "CLUSTER-DENIED",
      severity: "refuse",
    });
  });

  it("for other reasons is none of these", () => {
    expect(unreachable(new ApiError("GET", "/x", 404, {}))).toBeUndefined();
    expect(unreachable(new TypeError("bug"))).toBeUndefined();
  });

  it("tells every address that was tried", () => {
    const error = new AggregateError([new Error("ECONNREFUSED ::1"), new Error("ECONNREFUSED 127.0.0.1")]);
    expect(new UnreachableError("https://x", error).message).toContain(
      "ECONNREFUSED ::1; ECONNREFUSED 127.0.0.1",
    );
  });
});

describe("the record in the cluster", () => {
  const record = {
    stack: "o/p/s",
    plan: "upgrade",
    stage: "drain",
    came: "forward",
    undone: [],
    attempt: 4,
    since: 3,
  };
  const serving = (data: Record<string, string> | undefined) => FakeServer.start(() => ok({ data }));

  it("is read", async () => {
    expect(await readRecord((await serving({ record: JSON.stringify(record) })).api)).toEqual(record);
  });

  it("is null where there is none", async () => {
    const fake = await FakeServer.start(() => failure(404, "NotFound", "not found"));
    expect(await readRecord(fake.api)).toBeNull();
  });

  it.each([
    ["is empty", undefined],
    ["is no JSON", { record: "{" }],
    ["lacks a field", { record: JSON.stringify({ ...record, stage: undefined }) }],
    ["has a field too many", { record: JSON.stringify({ ...record, extra: 1 }) }],
  ])("that somebody changed by hand so that it %s is an error that names it", async (_, data) => {
    await expect(readRecord((await serving(data)).api)).rejects.toThrow(/kube-system\/cluster-migration/);
  });
});
