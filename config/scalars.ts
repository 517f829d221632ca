/**
 * Scalars shared by the schemas of all plans. Each carries its rule and its repair as metadata, so that a problem
 * found anywhere in a config can say both (see problems.ts).
 */
import { z } from "zod";

export interface RuleMeta {
  readonly rule: string;
  readonly repair: string;
}

/** Attaches rule and repair to a schema. */
export function ruled<T extends z.ZodType>(schema: T, rule: string, repair: string): T {
  return schema.meta({ rule, repair } satisfies RuleMeta);
}

/** RFC 1123 label: namespaces, and the names of most objects. */
export const DnsLabel = ruled(
  z
    .string()
    .max(63)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/),
  "an RFC 1123 label: at most 63 of a-z, 0-9 and '-', with a letter or digit at both ends",
  "write the object's name exactly as `kubectl get` shows it",
);

/** RFC 1123 subdomain: names of nodes. */
export const NodeName = ruled(
  z
    .string()
    .max(253)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/),
  "an RFC 1123 subdomain, as the names of nodes are: at most 253 of a-z, 0-9, '-' and '.'",
  "write the node's name exactly as `kubectl get nodes` shows it",
);

/** What kubeadm can bring a cluster to: a release or a pre-release, without a vendor's mark. */
export const KubeadmVersion = ruled(
  z.string().regex(/^v?\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$/),
  'a whole Kubernetes version as kubeadm knows them, in quotes, such as "v1.35.4"',
  "write major, minor and patch, in quotes, without a vendor's mark: YAML reads an unquoted 1.30 as the number 1.3",
);

export const Seconds = ruled(
  z.number().positive().max(86_400),
  "seconds: above 0, at most 86400",
  "give a number of seconds",
);

export const FilePath = ruled(
  // No line end: what has one is the content of a file, pasted in the place of its path.
  z.string().regex(/^[^\n\0]{1,4096}$/),
  "a path, absolute or relative to the project's folder ('~/' is the home folder)",
  "give the path of a file",
);

/** An argument vector: run as it is, by no shell. */
const PLACEHOLDERS = ["node", "version", "package"] as const;

/** Every `{placeholder}` in it is one that gets filled in: a misspelt one would reach the machine as it is. */
const knowsPlaceholders = (part: string): boolean =>
  [...part.matchAll(/\{(\w+)\}/g)].every(([, name]) => PLACEHOLDERS.some((one) => one === name));

export const Argv = ruled(
  z
    .array(
      ruled(
        z.string().min(1).refine(knowsPlaceholders, {
          error: "placeholders are {node}, {version} and {package}: another reaches the machine as it is",
        }),
        `an argument of a command; placeholders are ${PLACEHOLDERS.map((name) => `{${name}}`).join(", ")}`,
        "remove it, give it a value, or correct the placeholder",
      ),
    )
    .min(1),
  "a list of arguments, run as they are, by no shell",
  'write each argument as an element of its own: ["ssh", "{node}", "sudo"]',
);

/** `host:port` addresses with scheme, as etcdctl takes them. */
export const EtcdEndpoint = ruled(
  z
    .string()
    .regex(/^https?:\/\/[^\s/]+:\d{1,5}$/)
    .refine((url) => Number(url.slice(url.lastIndexOf(":") + 1)) <= 65_535, {
      error: "there is no such port",
    }),
  "an etcd client URL with scheme and port",
  "write it as https://HOST:2379",
);

/** `namespace/name` of a pod. */
export const PodRef = ruled(
  z.string().regex(/^[a-z0-9-]+\/[a-z0-9.-]+$/),
  "a pod as namespace/name",
  "acknowledge one pod at a time, e.g. shop/debug-shell: there is no global force",
);
