/** Which inputs of a resource are secret. */

/** Paths of secret inputs, e.g. `environment.TOKEN`; what lies below a secret path is secret too. */
export type SecretPaths = ReadonlySet<string>;

export function isSecret(paths: SecretPaths, path: readonly string[]): boolean {
  return path.some((_, index) => paths.has(path.slice(0, index + 1).join(".")));
}
