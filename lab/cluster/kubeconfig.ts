import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import type { Pair } from "./pki.ts";

/** A kubeconfig with everything in it, so that it works from any folder and may be copied. */
export async function kubeconfig(options: {
  /** Name of the cluster and of the context. */
  name: string;
  user: string;
  server: string;
  ca: string;
  client: Pair;
}): Promise<string> {
  const { name, user, server } = options;
  const [ca, cert, key] = await Promise.all(
    [options.ca, options.client.cert, options.client.key].map(async (path) =>
      (await readFile(path)).toString("base64"),
    ),
  );
  return stringify(
    {
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name, cluster: { server, "certificate-authority-data": ca } }],
      users: [{ name: user, user: { "client-certificate-data": cert, "client-key-data": key } }],
      contexts: [{ name, context: { cluster: name, user } }],
      "current-context": name,
    },
    { lineWidth: 0 },
  );
}
