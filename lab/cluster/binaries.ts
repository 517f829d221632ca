import type { Minor } from "./config.ts";
import { LabError } from "./errors.ts";
import type { Component } from "./layout.ts";

/** A program on this machine. */
export interface Binary {
  readonly path: string;
  readonly version: string;
}

export type Binaries = Readonly<Record<Component, Binary>>;
export type FindBinaries = (minor: Minor, options: FindOptions) => Promise<Binaries>;
export interface FindOptions {
  readonly progress: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
}

/** The programs of a lab whose control plane is of this minor, found or built by the toolchain. */
export const fromToolchain: FindBinaries = async (minor, { progress, signal }) => {
  // Loaded late: a command that only looks at a lab does not need it.
  const { ensure, ToolchainError } = await import("../../toolchain/index.ts");
  const ids = {
    etcd: "etcd",
    "kube-apiserver": `kube-apiserver@${minor}`,
    "kube-controller-manager": `kube-controller-manager@${minor}`,
    "kube-scheduler": `kube-scheduler@${minor}`,
    kwok: "kwok",
  } as const;
  const located = await ensure(Object.values(ids), { progress, ...(signal ? { signal } : {}) }).catch(
    (error: unknown) => {
      throw error instanceof ToolchainError ? new LabError(error.message) : error;
    },
  );
  const of = (component: Component): Binary => {
    const found = located.get(ids[component]);
    if (!found) throw new Error(`the toolchain returned no ${ids[component]}`);
    return { path: found.path, version: found.version };
  };
  return {
    etcd: of("etcd"),
    "kube-apiserver": of("kube-apiserver"),
    "kube-controller-manager": of("kube-controller-manager"),
    "kube-scheduler": of("kube-scheduler"),
    kwok: of("kwok"),
  };
};
