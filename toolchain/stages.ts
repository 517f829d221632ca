/**
 * kwok's stages: what its simulated kubelets do, as files that kwok is given with `--config`.
 *
 * They belong to kwok's version and are part of its module, so they are copied from the pinned module when kwok is
 * built and lie beside it in the cache. A kwok from PATH or a variable brings none; its stages then come from the
 * pinned module all the same (kwok 0.8.x alone fits), which takes Go and a download but no build, or from the
 * folder that CLUSTER_MIGRATION_KWOK_STAGES names.
 */
import { statSync } from "node:fs";
import { copyFile, readdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { cacheOf, entryName, makeFolder, setting, sync } from "./cache.ts";
import type { Cache } from "./cache.ts";
import { ToolchainError } from "./errors.ts";
import type { Located } from "./find.ts";
import { pinOf } from "./pins.ts";

export const stagesVariable = "CLUSTER_MIGRATION_KWOK_STAGES";
export const stageFolders = ["pod/fast", "node/fast", "node/heartbeat-with-lease"] as const;

function missingFrom(folder: string): string[] {
  return stageFolders.filter(
    (one) => statSync(join(folder, one), { throwIfNoEntry: false })?.isDirectory() !== true,
  );
}

/** Folder name in the cache for stages without a kwok. Same hash as kwok's: the same go.sum vouches for both. */
export function stagesEntryName(): string {
  return entryName(pinOf("kwok")).replace(/^kwok-/, "kwok-stages-");
}

/** Where this kwok's stages are or will be; undefined when they are neither named nor in the cache. */
export function findStages(located: Located, cache: Cache, env: NodeJS.ProcessEnv): string | undefined {
  const named = setting(env, stagesVariable);
  if (named !== undefined) {
    const folder = resolve(named);
    const missing = missingFrom(folder);
    if (missing.length === 0) return folder;
    throw new ToolchainError(
      `${stagesVariable}=${named}: ${missing.join(", ")} not found there; it must name a copy of kwok's ` +
        `kustomize/stage folder, version ${pinOf("kwok").fits.text}`,
    );
  }
  const pinned = [entryName(pinOf("kwok")), stagesEntryName()].map((name) =>
    join(cache.root, name, "stages"),
  );
  return [join(dirname(located.path), "stages"), ...pinned].find(
    (folder) => missingFrom(folder).length === 0,
  );
}

/**
 * The folder that holds the stages for a kwok that `ensure` gave: one folder for each of `stageFolders`, each of
 * which can be given to kwok's `--config`.
 *
 * @throws ToolchainError when they are not there
 */
export function kwokStages(located: Located, env: NodeJS.ProcessEnv = process.env): string {
  const folder = findStages(located, cacheOf(env), env);
  if (folder !== undefined) return folder;
  throw new ToolchainError(
    `no stages for ${located.path}: run "node toolchain/cli.ts ensure kwok", or name a copy of kwok's ` +
      `kustomize/stage folder by ${stagesVariable}`,
  );
}

/** Copies the stages from kwok's module; tests' data and Go sources stay behind. */
export async function copyStages(moduleFolder: string, to: string): Promise<void> {
  for (const folder of stageFolders) {
    const from = join(moduleFolder, "kustomize", "stage", folder);
    const target = join(to, folder);
    await makeFolder(target);
    for (const name of (await readdir(from)).filter((one) => one.endsWith(".yaml"))) {
      await copyFile(join(from, name), join(target, name));
      await sync(join(target, name));
    }
    await sync(target);
  }
}
