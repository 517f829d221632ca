/** A world of its own for each test: a PATH with nothing but what the test puts there, and a cache. */
import {
  existsSync,
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach } from "vitest";

const worlds: string[] = [];
afterEach(() => {
  for (const root of worlds.splice(0)) rmSync(root, { recursive: true, force: true });
});

/**
 * Stands in for go. `build` writes a program that says the version in FAKE_VERSION, after FAKE_SLEEP seconds in
 * which only half of it is there; FAKE_FAIL makes it fail. Each build is noted in FAKE_CALLS.
 */
const fakeGo = (version: string): string => `
case "$1" in
  version) echo "go version go${version} linux/amd64"; exit 0 ;;
  list) echo "$FAKE_MODULE"; exit 0 ;;
esac
while [ "$1" != -o ]; do shift; done
out=$2
echo "$$ $out" >> "$FAKE_CALLS"
if [ -n "$FAKE_SLEEP" ]; then printf half > "$out"; /bin/sleep "$FAKE_SLEEP"; fi
if [ -n "$FAKE_FAIL" ]; then echo "server.go:7: undefined: quorum" >&2; exit 1; fi
case "\${out##*/}" in
  etcd) says="etcd Version: $FAKE_VERSION" ;;
  kwok) says="kwok version v$FAKE_VERSION go1.26" ;;
  *) says="\${out##*/} version: $FAKE_VERSION" ;;
esac
printf '#!/bin/sh\\necho "%s"\\n' "$says" > "$out"
/bin/chmod +x "$out"
`;

export class World {
  readonly root = mkdtempSync(join(tmpdir(), "toolchain-"));
  readonly bin = join(this.root, "bin");
  readonly cache = join(this.root, "cache");
  readonly calls = join(this.root, "calls");
  readonly lines: string[] = [];
  readonly env: NodeJS.ProcessEnv = {
    PATH: this.bin,
    HOME: this.root,
    CLUSTER_MIGRATION_CACHE: this.cache,
    FAKE_CALLS: this.calls,
    FAKE_VERSION: "3.6.16",
  };
  readonly progress = (line: string): void => {
    this.lines.push(line);
  };

  constructor() {
    worlds.push(this.root);
    mkdirSync(this.bin);
  }

  /** A shell script as a program. */
  program(name: string, script: string, folder = this.bin): string {
    const path = join(folder, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return path;
  }

  etcd(version: string, folder?: string): string {
    return this.program("etcd", `echo "etcd Version: ${version}"`, folder);
  }

  go(version = "1.99.0"): void {
    this.program("go", fakeGo(version));
  }

  builds(): string[] {
    return existsSync(this.calls) ? readFileSync(this.calls, "utf8").trim().split("\n") : [];
  }

  /** Names of published tools. */
  published(): string[] {
    return this.#names("toolchain").filter((name) => !name.startsWith(".") && /-[0-9a-f]{12}$/.test(name));
  }

  /** What builds and locks have left behind. */
  leftovers(): string[] {
    return [...this.#names("toolchain/.building"), ...this.#names("toolchain/.locks")];
  }

  #names(folder: string): string[] {
    const path = join(this.cache, folder);
    return existsSync(path) ? readdirSync(path) : [];
  }
}

/** @throws Error when it has not become true after five seconds */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const end = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not so after 5 s: ${what}`);
    await sleep(20);
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // A zombie still has its pid until its parent asks for it.
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, "utf8"));
}
