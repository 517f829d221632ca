/** etcd by its own tools, `etcdctl` and `etcdutl`, with the addresses and certificates of the config. */
import { expandHome } from "../cluster/connect.ts";
import { runProcess, type ProcessOptions } from "./process.ts";
import { z } from "zod";

export const EtcdAccess = z.strictObject({
  endpoints: z.array(z.string()).min(1),
  cacert: z.string().optional(),
  cert: z.string().optional(),
  key: z.string().optional(),
});
export type EtcdAccess = z.output<typeof EtcdAccess>;

export interface EtcdEndpointStatus {
  readonly endpoint: string;
  readonly clusterId: string;
  readonly memberId: string;
  readonly version: string;
  readonly dbSize: number;
  readonly revision: number;
  readonly raftIndex: number;
  readonly isLeader: boolean;
  readonly isLearner: boolean;
  readonly errors: readonly string[];
}

const LIMIT_SECONDS = 300;

export class EtcdTool {
  readonly #access: EtcdAccess;
  readonly #options: ProcessOptions;

  constructor(access: EtcdAccess, options: Omit<ProcessOptions, "timeoutSeconds">) {
    this.#access = access;
    this.#options = { ...options, timeoutSeconds: LIMIT_SECONDS };
  }

  /** Runs etcdctl against the given endpoints (default: all). Throws with its output when it fails. */
  async ctl(args: readonly string[], endpoints: readonly string[] = this.#access.endpoints): Promise<string> {
    const { cacert, cert, key } = this.#access;
    return await this.#run([
      "etcdctl",
      `--endpoints=${endpoints.join(",")}`,
      ...(cacert === undefined ? [] : [`--cacert=${expandHome(cacert)}`]),
      ...(cert === undefined ? [] : [`--cert=${expandHome(cert)}`]),
      ...(key === undefined ? [] : [`--key=${expandHome(key)}`]),
      ...args,
    ]);
  }

  /** Runs etcdutl, which works on files alone. */
  async utl(args: readonly string[]): Promise<string> {
    return await this.#run(["etcdutl", ...args]);
  }

  /** Of every endpoint that answers; each is asked by itself, so that a dead one hides no other. */
  async status(): Promise<EtcdEndpointStatus[]> {
    const answers = await Promise.allSettled(
      this.#access.endpoints.map((endpoint) => this.ctl(["endpoint", "status", "-w", "json"], [endpoint])),
    );
    const texts = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
    const failed = answers.find((answer) => answer.status === "rejected");
    if (texts.length === 0 && failed !== undefined) throw failed.reason;
    return texts.flatMap((text) => parseEndpointStatus(JSON.parse(quoteBigNumbers(text))));
  }

  async #run(argv: readonly string[]): Promise<string> {
    const result = await runProcess(argv, this.#options);
    if (result.code !== 0) {
      const said = [result.stderr, result.stdout].filter((text) => text !== "").join("\n");
      throw new Error(
        `${argv[0] ?? ""} ${argv
          .filter((one) => !one.startsWith("--"))
          .slice(1)
          .join(" ")} failed (exit ${result.code}): ${said}`,
      );
    }
    return result.stdout;
  }
}

/** etcd ids are unsigned 64-bit integers, which JSON.parse would round: they are read as text. */
export function quoteBigNumbers(json: string): string {
  return json.replace(/([:[,]\s*)(\d{16,})(?=\s*[,}\]])/g, '$1"$2"');
}

const EndpointStatus = z.array(
  z.object({
    Endpoint: z.string(),
    Status: z.object({
      header: z.object({
        cluster_id: z.union([z.string(), z.number()]),
        member_id: z.union([z.string(), z.number()]),
        revision: z.number().default(0),
      }),
      version: z.string(),
      dbSize: z.number(),
      leader: z.union([z.string(), z.number()]).optional(),
      raftIndex: z.number().default(0),
      isLearner: z.boolean().default(false),
      errors: z.array(z.string()).nullish(),
    }),
  }),
);

export function parseEndpointStatus(value: unknown): EtcdEndpointStatus[] {
  return EndpointStatus.parse(value).map(({ Endpoint, Status }) => ({
    endpoint: Endpoint,
    clusterId: hex(Status.header.cluster_id),
    memberId: hex(Status.header.member_id),
    version: Status.version,
    dbSize: Status.dbSize,
    revision: Status.header.revision,
    raftIndex: Status.raftIndex,
    isLeader: Status.leader !== undefined && hex(Status.leader) === hex(Status.header.member_id),
    isLearner: Status.isLearner,
    errors: Status.errors ?? [],
  }));
}

/** As etcd prints ids in its own tables. */
const hex = (id: string | number): string => BigInt(id).toString(16);
