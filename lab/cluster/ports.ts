import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { codeOf, LabError } from "./errors.ts";

/** The loopback ports of one lab. */
export interface Ports {
  readonly etcdClient: number;
  readonly etcdPeer: number;
  readonly apiserver: number;
  readonly controllerManager: number;
  readonly scheduler: number;
  readonly kwok: number;
}

/**
 * Below the kernels' ephemeral ranges (Linux 32768 to 60999, macOS from 49152) and below Kubernetes' NodePorts
 * (30000 to 32767). A port out of the ephemeral range could be taken by any outgoing connection while the API
 * server is down for its upgrade; worse, a client that retries a port nobody listens on can be given that very
 * port as its own and connect to itself.
 */
const FIRST = 20_000;
const LAST = 29_999;

function canBind(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (error) => {
      const code = codeOf(error);
      if (code === "EADDRINUSE" || code === "EACCES") resolve(false);
      else reject(error);
    });
    server.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      server.close(() => {
        resolve(true);
      });
    });
  });
}

/**
 * Ports that were free a moment ago, none twice. Between this look and the bind of the process another program
 * can take one: whoever starts the process must be ready for `address already in use` and ask again.
 */
export async function pickPorts(): Promise<Ports> {
  const taken = new Set<number>();
  const next = async (): Promise<number> => {
    for (let attempt = 0; attempt < 200; attempt++) {
      const port = randomInt(FIRST, LAST + 1);
      if (!taken.has(port) && (await canBind(port))) {
        taken.add(port);
        return port;
      }
    }
    throw new LabError(
      `no free port on 127.0.0.1 between ${FIRST} and ${LAST} after 200 tries; stop what listens there (\`ss -ltn\`)`,
    );
  };
  return {
    etcdClient: await next(),
    etcdPeer: await next(),
    apiserver: await next(),
    controllerManager: await next(),
    scheduler: await next(),
    kwok: await next(),
  };
}
