/** What the program's node_modules say: which provider plugins it needs, and which packages it depends on. */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";

export interface PluginRequirement {
  readonly name: string;
  /** With a leading "v", as the official host gives it. */
  readonly version: string;
  /** Where to download it; "" for the default. */
  readonly server: string;
}

interface PackageJson {
  readonly name?: string;
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly pulumi?: {
    readonly resource?: boolean;
    readonly name?: string;
    readonly version?: string;
    readonly server?: string;
  };
}

/**
 * Every package below a node_modules of the program whose package.json says `pulumi.resource`. Policy packs have
 * plugins of their own and are left out, as are folders whose name starts with a dot.
 */
export function requiredPlugins(programDirectory: string): PluginRequirement[] {
  const found = new Map<string, PluginRequirement>();
  forEachPackage(programDirectory, (pkg) => {
    const requirement = requirementOf(pkg);
    if (requirement !== undefined) found.set(`${requirement.name}@${requirement.version}`, requirement);
  });
  return [...found.values()].sort(
    (a, b) => a.name.localeCompare(b.name) || a.version.localeCompare(b.version),
  );
}

function requirementOf(pkg: PackageJson): PluginRequirement | undefined {
  if (pkg.pulumi?.resource !== true) return undefined;
  const name = pkg.pulumi.name ?? (pkg.name?.startsWith("@pulumi/") === true ? pkg.name.slice(8) : undefined);
  const version = pkg.pulumi.version ?? pkg.version;
  // The official host, too, leaves out a package that names neither; it only shows in its debug log.
  if (name === undefined || version === undefined) return undefined;
  return {
    name,
    version: version.startsWith("v") ? version : `v${version}`,
    server: pkg.pulumi.server ?? "",
  };
}

/** Name and installed version of the program's own dependencies, or of every package below its node_modules. */
export function dependencies(
  programDirectory: string,
  transitive: boolean,
): { name: string; version: string }[] {
  const found = new Map<string, { name: string; version: string }>();
  const add = (pkg: PackageJson | undefined): void => {
    if (pkg?.name !== undefined && pkg.version !== undefined) {
      found.set(`${pkg.name}@${pkg.version}`, { name: pkg.name, version: pkg.version });
    }
  };
  if (transitive) {
    forEachPackage(programDirectory, add);
  } else {
    const own = readPackage(join(programDirectory, "package.json"));
    for (const name of Object.keys({ ...own?.dependencies, ...own?.devDependencies })) {
      add(readPackage(join(programDirectory, "node_modules", name, "package.json")));
    }
  }
  return [...found.values()].sort(
    (a, b) => a.name.localeCompare(b.name) || a.version.localeCompare(b.version),
  );
}

function forEachPackage(programDirectory: string, visit: (pkg: PackageJson) => void): void {
  const seen = new Set<string>();

  const walkProgram = (dir: string): void => {
    for (const path of subfolders(dir, seen)) {
      if (path.endsWith("/node_modules")) walkModules(path);
      else if (!existsSync(join(path, "PulumiPolicy.yaml"))) walkProgram(path);
    }
  };
  const walkModules = (dir: string): void => {
    for (const path of subfolders(dir, seen)) {
      if (/\/@[^/]+$/.test(path)) {
        walkModules(path);
        continue;
      }
      const pkg = readPackage(join(path, "package.json"));
      if (pkg !== undefined) visit(pkg);
      const nested = join(path, "node_modules");
      if (existsSync(nested)) walkModules(nested);
    }
  };
  walkProgram(programDirectory);
}

/** The folders right below `dir` that were not visited yet, links followed, in a stable order. */
function subfolders(dir: string, seen: Set<string>): string[] {
  const found: string[] = [];
  let entries;
  try {
    entries = readdirSync(dir, { withFileTypes: true });
  } catch {
    return found;
  }
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    let path = join(dir, entry.name);
    if (entry.isSymbolicLink()) {
      try {
        path = realpathSync(path);
        if (!statSync(path).isDirectory()) continue;
      } catch {
        continue;
      }
    } else if (!entry.isDirectory()) {
      continue;
    }
    if (seen.has(path)) continue;
    seen.add(path);
    found.push(path);
  }
  return found;
}

function readPackage(path: string): PackageJson | undefined {
  try {
    const value = JSON.parse(readFileSync(path, "utf8")) as unknown;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
