import { z } from "zod";
import { fromToolchain, type Binaries } from "../cluster/binaries.ts";
import { MINORS, type Minor } from "../cluster/config.ts";
import { readIfThere, writeAtomic } from "../cluster/files.ts";
import type { Layout } from "../cluster/layout.ts";
import { withV } from "./versions.ts";

const Release = z.strictObject({
  /** `v1.35.4` */
  version: z.string(),
  files: z.strictObject({
    "kube-apiserver": z.string(),
    "kube-controller-manager": z.string(),
    "kube-scheduler": z.string(),
  }),
});
const RepositorySchema = z.partialRecord(z.enum(MINORS), Release);

/** One Kubernetes release that a lab can run. */
export type Release = z.output<typeof Release>;

async function read(layout: Layout): Promise<z.output<typeof RepositorySchema>> {
  const text = await readIfThere(layout.repository);
  return text === undefined ? {} : RepositorySchema.parse(JSON.parse(text));
}

/** Puts a release into the repository. */
export async function publish(layout: Layout, minor: Minor, binaries: Binaries): Promise<Release> {
  const release: Release = {
    version: withV(binaries["kube-apiserver"].version),
    files: {
      "kube-apiserver": binaries["kube-apiserver"].path,
      "kube-controller-manager": binaries["kube-controller-manager"].path,
      "kube-scheduler": binaries["kube-scheduler"].path,
    },
  };
  await writeAtomic(
    layout.repository,
    `${JSON.stringify({ ...(await read(layout)), [minor]: release }, undefined, 2)}\n`,
    0o644,
  );
  return release;
}

/**
 * The release of a minor, fetched (found or built by the toolchain) when the lab has not had it yet; undefined
 * when the toolchain knows no such minor.
 */
export async function releaseOf(
  layout: Layout,
  minor: string,
  progress: (line: string) => void,
): Promise<Release | undefined> {
  const known = MINORS.find((each) => each === minor);
  if (!known) return undefined;
  return (await read(layout))[known] ?? publish(layout, known, await fromToolchain(known, { progress }));
}
