/** Which plugin version each installed SDK asks for; the lockfile is the only place that fixes them. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

interface PackageJson {
  readonly version: string;
  readonly pulumi?: { readonly name?: string; readonly version?: string };
}

/**
 * @param sdk an npm package, for example "@pulumi/command"
 * @param from the file or folder whose node_modules is meant
 * @returns the version without a leading "v"
 * @throws when the package is not installed
 */
export function sdkVersion(sdk: string, from: string): string {
  let path: string;
  try {
    path = createRequire(from.endsWith("/") ? from : `${from}/`).resolve(`${sdk}/package.json`);
  } catch {
    throw new Error(
      `${sdk} is not installed for ${from}: its plugin's version is unknown. Run "npm ci" there.`,
    );
  }
  const pkg = JSON.parse(readFileSync(path, "utf8")) as PackageJson;
  return (pkg.pulumi?.version ?? pkg.version).replace(/^v/, "");
}
