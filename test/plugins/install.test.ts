import { spawn } from "node:child_process";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { installPlugins } from "../../lab/plugins/install.ts";
import { sdkVersion } from "../../lab/plugins/shared/sdk-versions.ts";
import { processesWith, root, temporaryFolder } from "./support.ts";

function executable(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, "#!/bin/sh\nexit 0\n");
  chmodSync(path, 0o755);
  return path;
}

function machine() {
  const dir = temporaryFolder();
  const pulumi = executable(join(dir, "cli/pulumi"));
  return {
    dir,
    home: join(dir, "home"),
    options: { projectDir: root, pulumi, userHome: join(dir, "user"), path: join(dir, "bin") },
  };
}

test("where nothing official is installed, stand-ins of the SDKs' versions are put in", async () => {
  const { home, options, dir } = machine();
  const built = executable(join(dir, "built/pulumi-resource-kubernetes"));
  const plugins = await installPlugins(home, { ...options, kubernetesProvider: built });
  expect(plugins.language).toMatchObject({ source: "stand-in", version: sdkVersion("@pulumi/pulumi", root) });
  expect(plugins.command).toMatchObject({
    source: "stand-in",
    path: join(
      home,
      "plugins",
      `resource-command-v${sdkVersion("@pulumi/command", root)}`,
      "pulumi-resource-command",
    ),
  });
  expect(plugins.kubernetes).toMatchObject({
    source: "built",
    version: sdkVersion("@pulumi/kubernetes", root),
  });
  expect(readFileSync(plugins.kubernetes?.path ?? "", "utf8")).toContain(`exec '${built}' "$@"`);
  expect(readFileSync(plugins.command.path, "utf8")).toContain("not the official pulumi-resource-command");
  expect(lstatSync(plugins.command.path).mode & 0o111).not.toBe(0);
  // Again, over what is there.
  expect(await installPlugins(home, { ...options, kubernetesProvider: built })).toEqual(plugins);
});

test("without a built kubernetes provider there is none", async () => {
  const { home, options } = machine();
  expect((await installPlugins(home, options)).kubernetes).toBeUndefined();
});

test("a language host beside pulumi is used, also through a link", async () => {
  const { home, options, dir } = machine();
  const official = executable(join(dir, "cli/pulumi-language-nodejs"));
  const link = join(dir, "link-to-pulumi");
  symlinkSync(options.pulumi, link);
  const { language } = await installPlugins(home, { ...options, pulumi: link });
  expect(language).toMatchObject({ source: "official", path: official });
});

test("official plugins on PATH are used", async () => {
  const { home, options, dir } = machine();
  const host = executable(join(dir, "bin/pulumi-language-nodejs"));
  const command = executable(join(dir, "bin/pulumi-resource-command"));
  const plugins = await installPlugins(home, options);
  expect(plugins.language).toMatchObject({ source: "official", path: host });
  expect(plugins.command).toMatchObject({ source: "official", path: command });
});

test("an official provider of the user's is linked when its version is the SDK's, and only then", async () => {
  const { home, options, dir } = machine();
  executable(join(dir, "user/plugins/resource-command-v0.0.1/pulumi-resource-command"));
  expect((await installPlugins(home, options)).command.source).toBe("stand-in");
  const version = sdkVersion("@pulumi/command", root);
  const theirs = executable(join(dir, `user/plugins/resource-command-v${version}/pulumi-resource-command`));
  const { command } = await installPlugins(home, options);
  expect(command.source).toBe("official");
  expect(readlinkSync(command.path)).toBe(theirs);
});

test("a missing SDK is named, with the repair", async () => {
  const { home, options, dir } = machine();
  await expect(installPlugins(home, { ...options, projectDir: dir })).rejects.toThrow(
    /@pulumi\/pulumi is not installed for .*Run "npm ci"/,
  );
});

test("the built kubernetes provider ends soon after the engine, even one that is deaf to SIGTERM", async () => {
  const { home, options, dir } = machine();
  const built = join(dir, "built");
  writeFileSync(built, "#!/bin/sh\ntrap '' TERM\necho 1234\nwhile true; do sleep 0.1; done\n");
  chmodSync(built, 0o755);
  const { kubernetes } = await installPlugins(home, { ...options, kubernetesProvider: built });
  const provider = spawn(kubernetes?.path ?? "", ["127.0.0.1:1"], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise<string | null>((resolve) =>
    provider.once("exit", (_code, signal) => {
      resolve(signal);
    }),
  );
  await new Promise((resolve) => provider.stdout.once("data", resolve));
  expect(processesWith(built)).toContain(provider.pid);
  provider.stdin.end();
  expect(await ended).toBe("SIGKILL");
});
