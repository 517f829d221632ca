/** A failure that its reader can repair; the message is complete and needs no stack. */
export class ToolchainError extends Error {
  override readonly name = "ToolchainError";
}

/** The wish to stop (Ctrl-C, an aborted signal); nothing is wrong with any tool. */
export class ToolchainInterrupted extends ToolchainError {}

const repairs: Readonly<Record<string, string>> = {
  ENOSPC: "the disk is full: free some space, or name a folder on another disk by CLUSTER_MIGRATION_CACHE",
  EDQUOT:
    "the disk quota is used up: free some space, or name a folder on another disk by CLUSTER_MIGRATION_CACHE",
  EACCES: "no permission: make the folder writable, or name another one by CLUSTER_MIGRATION_CACHE",
  EPERM: "not permitted: make the folder writable, or name another one by CLUSTER_MIGRATION_CACHE",
  EROFS: "the file system is read-only: name a writable folder by CLUSTER_MIGRATION_CACHE",
  ENOTDIR: "a part of the path is a file, not a folder: name another folder by CLUSTER_MIGRATION_CACHE",
  ENOENT: "nothing can be made there: name another folder by CLUSTER_MIGRATION_CACHE",
  EEXIST:
    "a file stands where a folder is needed: remove it, or name another folder by CLUSTER_MIGRATION_CACHE",
};

export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** Says which part of the cache could not be used and what helps, where the cause is a known one. */
export function cacheFailure(doing: string, path: string, error: unknown): ToolchainError {
  if (error instanceof ToolchainError) return error;
  const code = errorCode(error);
  const known = code === undefined ? undefined : repairs[code];
  const detail = known ?? (error instanceof Error ? error.message : String(error));
  return new ToolchainError(`cannot ${doing} ${path}: ${detail}`, { cause: error });
}
