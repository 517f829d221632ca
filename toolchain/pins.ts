/**
 * The one list of every program that the lab runs and that npm does not carry.
 *
 * Each is a Go module at one version. Its folder under `modules/` holds a `go.mod` that asks for it and a
 * `go.sum` with the checksum of every module that goes into it; builds run with `-mod=readonly`, so that
 * nothing without a checksum there can get in. A test holds this list against those files.
 */
import { atLeast, exactly, minors } from "./versions.ts";
import type { Fit } from "./versions.ts";

export type ToolId =
  | "pulumi"
  | "pulumi-resource-kubernetes"
  | "kwok"
  | "etcd"
  | "etcdctl"
  | "etcdutl"
  | "kubectl"
  | "kube-apiserver@1.34"
  | "kube-controller-manager@1.34"
  | "kube-scheduler@1.34"
  | "kube-apiserver@1.35"
  | "kube-controller-manager@1.35"
  | "kube-scheduler@1.35";

/** How a program is asked for its version. */
export type VersionQuery =
  | { readonly kind: "command"; readonly args: readonly string[]; readonly pattern: RegExp }
  /** A Pulumi plugin has no version flag; it is started and asked over gRPC (GetPluginInfo). */
  | { readonly kind: "plugin" };

export interface Pin {
  readonly id: ToolId;
  /** The file's name. */
  readonly name: string;
  /** What the built program reports, without a leading "v". */
  readonly version: string;
  readonly module: string;
  /** The module's version as go.mod names it. */
  readonly moduleVersion: string;
  /** What `go build` is given. "." is the folder's own main.go. */
  readonly packagePath: string;
  /** Folder under `modules/`. */
  readonly folder: string;
  /** The file whose checksums everything fetched is held against, from the repository's root. */
  readonly checksums: string;
  /** String variables set by the linker (`-X name=value`): without them these programs do not know their version. */
  readonly linkerVariables: Readonly<Record<string, string>>;
  /** The environment variable that names a binary to use instead. */
  readonly variable: string;
  /** Which versions are taken from the variable or from PATH. */
  readonly fits: Fit;
  readonly query: VersionQuery;
}

function pin(from: Omit<Pin, "checksums" | "variable">): Pin {
  return {
    ...from,
    checksums: `toolchain/modules/${from.folder}/go.sum`,
    variable: `CLUSTER_MIGRATION_${from.id.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}`,
  };
}

function command(pattern: RegExp, ...args: string[]): VersionQuery {
  return { kind: "command", args, pattern };
}

// The lab drives etcd by its 3.6 command lines and file formats; patches of a minor share both
// (etcd.io, "Versioning"). etcdutl reads what etcd writes, so all three go by the same rule.
const etcd = { version: "3.6.16", moduleVersion: "v3.6.16", folder: "etcd", fits: minors(3, 6) };

type KubernetesComponent = "kube-apiserver" | "kube-controller-manager" | "kube-scheduler";

/**
 * Kubernetes reads its version from these two packages; upstream's build sets both (hack/lib/version.sh). The commit
 * is set to nothing, because a module does not tell it and the default is an unfilled placeholder.
 */
function kubernetesVersion(version: string): Record<string, string> {
  const [major = "", minor = ""] = version.split(".");
  const values = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor, gitCommit: "" };
  return Object.fromEntries(
    ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((path) =>
      Object.entries(values).map(([key, value]) => [`${path}.${key}`, value]),
    ),
  );
}

function kubernetes(minor: 34 | 35, version: string, component: KubernetesComponent): Pin {
  return pin({
    id: `${component}@1.${minor}`,
    name: component,
    version,
    module: "k8s.io/kubernetes",
    moduleVersion: `v${version}`,
    packagePath: `k8s.io/kubernetes/cmd/${component}`,
    folder: `kubernetes-1.${minor}`,
    linkerVariables: kubernetesVersion(version),
    // The minor is what an upgrade is about: another one would rehearse another upgrade.
    fits: minors(1, minor),
    query: command(/^Kubernetes (v\S+)/m, "--version"),
  });
}

const components = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] as const;

export const pins: readonly Pin[] = [
  pin({
    id: "etcd",
    name: "etcd",
    module: "go.etcd.io/etcd/server/v3",
    packagePath: "go.etcd.io/etcd/server/v3",
    linkerVariables: {},
    query: command(/^etcd Version: (\S+)/m, "--version"),
    ...etcd,
  }),
  pin({
    id: "etcdctl",
    name: "etcdctl",
    module: "go.etcd.io/etcd/etcdctl/v3",
    packagePath: "go.etcd.io/etcd/etcdctl/v3",
    linkerVariables: {},
    query: command(/^etcdctl version: (\S+)/m, "version"),
    ...etcd,
  }),
  pin({
    id: "etcdutl",
    name: "etcdutl",
    module: "go.etcd.io/etcd/etcdutl/v3",
    packagePath: "go.etcd.io/etcd/etcdutl/v3",
    linkerVariables: {},
    query: command(/^etcdutl version: (\S+)/m, "version"),
    ...etcd,
  }),
  pin({
    id: "kwok",
    name: "kwok",
    version: "0.8.0",
    module: "sigs.k8s.io/kwok",
    moduleVersion: "v0.8.0",
    packagePath: "sigs.k8s.io/kwok/cmd/kwok",
    folder: "kwok",
    linkerVariables: { "sigs.k8s.io/kwok/pkg/consts.Version": "v0.8.0" },
    // Below 1.0 a minor may change flags and stages alike.
    fits: minors(0, 8),
    query: command(/^kwok version (v\S+)/m, "--version"),
  }),
  pin({
    id: "pulumi",
    name: "pulumi",
    // The version of @pulumi/pulumi in the lockfile.
    version: "3.276.0",
    module: "github.com/pulumi/pulumi/pkg/v3",
    moduleVersion: "v3.276.0",
    packagePath: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    folder: "pulumi",
    linkerVariables: { "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version": "v3.276.0" },
    // An engine older than the SDK may lack what the SDK asks it for; a newer one keeps serving older SDKs.
    fits: atLeast("3.276.0"),
    query: command(/^(v\d\S+)/m, "version"),
  }),
  pin({
    id: "pulumi-resource-kubernetes",
    name: "pulumi-resource-kubernetes",
    // The version of @pulumi/kubernetes in the lockfile.
    version: "4.25.0",
    module: "github.com/pulumi/pulumi-kubernetes/provider/v4",
    // The provider's module has no version tags of its own, so Go names a commit by time and hash. f47bc2d6f199
    // is the commit that pulumi-kubernetes tags as v4.25.0, the release that @pulumi/kubernetes 4.25.0 comes from.
    moduleVersion: "v4.0.0-20260115033456-f47bc2d6f199",
    packagePath: ".",
    folder: "pulumi-kubernetes",
    linkerVariables: { "github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version": "4.25.0" },
    // The engine asks for the plugin of exactly the version that the SDK names.
    fits: exactly("4.25.0"),
    query: { kind: "plugin" },
  }),
  pin({
    id: "kubectl",
    name: "kubectl",
    version: "1.34.4",
    module: "k8s.io/kubernetes",
    moduleVersion: "v1.34.4",
    packagePath: "k8s.io/kubernetes/cmd/kubectl",
    folder: "kubernetes-1.34",
    linkerVariables: kubernetesVersion("1.34.4"),
    // Within one minor of both API servers (kubernetes.io, "Version Skew Policy").
    fits: minors(1, 34, 35),
    query: command(/"gitVersion":\s*"(v[^"]+)"/, "version", "--client", "--output=json"),
  }),
  ...components.map((component) => kubernetes(34, "1.34.4", component)),
  ...components.map((component) => kubernetes(35, "1.35.4", component)),
];

/** @throws TypeError when no tool has this id. */
export function pinOf(id: string): Pin {
  const found = pins.find((one) => one.id === id);
  if (found === undefined) {
    throw new TypeError(`no tool is called "${id}"; known: ${pins.map((one) => one.id).join(", ")}`);
  }
  return found;
}
