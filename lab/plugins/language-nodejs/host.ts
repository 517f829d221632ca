/**
 * A stand-in for pulumi-language-nodejs, for machines where the official language host is not installed.
 *
 * It runs programs, policy packs and plugins with the node that runs it. It generates no code: GenerateProgram,
 * GeneratePackage, Pack and Link answer "unimplemented".
 */
import * as grpc from "@grpc/grpc-js";
import languageRpc from "@pulumi/pulumi/proto/language_grpc_pb.js";
import type { ILanguageRuntimeServer } from "@pulumi/pulumi/proto/language_grpc_pb.js";
import languagePb from "@pulumi/pulumi/proto/language_pb.js";
import pluginPb from "@pulumi/pulumi/proto/plugin_pb.js";
import type { EngineLink } from "../shared/engine-link.ts";
import { asStatus, empty, fromStruct, RpcError, unary } from "../shared/rpc.ts";
import type { Plugin } from "../shared/plugin-main.ts";
import type { ProcessGroup } from "../shared/process-group.ts";
import { sdkVersion } from "../shared/sdk-versions.ts";
import { installDependencies } from "./install-dependencies.ts";
import { dependencies, requiredPlugins } from "./packages.ts";
import { runPlugin } from "./run-plugin.ts";
import { runProgram } from "./run-program.ts";

/** Build metadata is the part of a semantic version that carries no precedence: here it tells who answers. */
export function standInVersion(sdk: string): string {
  return `${sdkVersion(sdk, import.meta.dirname)}+stand-in`;
}

export class LanguageHost implements Plugin {
  #engineAddress: string;
  readonly #running = new Set<ProcessGroup>();
  #cancelled = false;

  constructor(engine: EngineLink | undefined) {
    this.#engineAddress = engine?.address ?? "";
  }

  register(server: grpc.Server): void {
    const implementation: Partial<ILanguageRuntimeServer> = {
      handshake: unary((request) => {
        this.#engineAddress = request.getEngineAddress();
        return new languagePb.LanguageHandshakeResponse();
      }),
      getPluginInfo: unary(() => {
        const info = new pluginPb.PluginInfo();
        info.setVersion(standInVersion("@pulumi/pulumi"));
        return info;
      }),
      getRequiredPackages: unary((request) => {
        const response = new languagePb.GetRequiredPackagesResponse();
        for (const plugin of requiredPlugins(request.getInfo()?.getProgramDirectory() ?? "")) {
          const dependency = new pluginPb.PackageDependency();
          dependency.setName(plugin.name);
          dependency.setKind("resource");
          dependency.setVersion(plugin.version);
          dependency.setServer(plugin.server);
          response.addPackages(dependency);
        }
        return response;
      }),
      getRequiredPlugins: unary((request) => {
        const response = new languagePb.GetRequiredPluginsResponse();
        for (const plugin of requiredPlugins(request.getInfo()?.getProgramDirectory() ?? request.getPwd())) {
          const dependency = new pluginPb.PluginDependency();
          dependency.setName(plugin.name);
          dependency.setKind("resource");
          dependency.setVersion(plugin.version);
          dependency.setServer(plugin.server);
          response.addPlugins(dependency);
        }
        return response;
      }),
      getProgramDependencies: unary((request) => {
        const response = new languagePb.GetProgramDependenciesResponse();
        const directory = request.getInfo()?.getProgramDirectory() ?? request.getPwd();
        for (const { name, version } of dependencies(directory, request.getTransitivedependencies())) {
          const dependency = new languagePb.DependencyInfo();
          dependency.setName(name);
          dependency.setVersion(version);
          response.addDependencies(dependency);
        }
        return response;
      }),
      run: unary(async (request, call) => {
        if (this.#engineAddress === "") {
          throw new RpcError(
            grpc.status.FAILED_PRECONDITION,
            "call Handshake before Run: no engine address is known",
          );
        }
        const outcome = await runProgram(request, this.#engineAddress, (group) => {
          this.#track(group);
          call.on("cancelled", () => void group.end());
        });
        const response = new languagePb.RunResponse();
        response.setError(outcome.error);
        response.setBail(outcome.bail);
        return response;
      }),
      runPlugin: (call) => {
        finish(
          call,
          runPlugin(call, (group) => {
            this.#track(group);
          }),
        );
      },
      installDependencies: (call) => {
        finish(
          call,
          installDependencies(call, (group) => {
            this.#track(group);
          }),
        );
      },
      runtimeOptionsPrompts: unary((request) => {
        const response = new languagePb.RuntimeOptionsResponse();
        const options = fromStruct(request.getInfo()?.getOptions());
        if (options["packagemanager"] === undefined) response.addPrompts(packageManagerPrompt());
        return response;
      }),
      template: unary(() => new languagePb.TemplateResponse()),
      about: unary(() => {
        const response = new languagePb.AboutResponse();
        response.setExecutable(process.execPath);
        response.setVersion(process.version);
        response.getMetadataMap().set("packagemanager", "npm");
        response
          .getMetadataMap()
          .set("languageHost", "stand-in of the lab, not the official pulumi-language-nodejs");
        return response;
      }),
      cancel: unary(async () => {
        await this.stop();
        return empty();
      }),
    };
    server.addService(
      languageRpc.LanguageRuntimeService,
      implementation as grpc.UntypedServiceImplementation,
    );
  }

  async stop(): Promise<void> {
    this.#cancelled = true;
    await Promise.all([...this.#running].map((group) => group.end()));
  }

  #track(group: ProcessGroup): void {
    this.#running.add(group);
    const forget = (): void => {
      this.#running.delete(group);
    };
    group.ended.then(forget, forget);
    if (this.#cancelled) void group.end();
  }
}

function packageManagerPrompt(): languagePb.RuntimeOptionPrompt {
  const npm = new languagePb.RuntimeOptionPrompt.RuntimeOptionValue();
  npm.setPrompttype(languagePb.RuntimeOptionPrompt.RuntimeOptionType.STRING);
  npm.setStringvalue("npm");
  npm.setDisplayname("npm");
  const prompt = new languagePb.RuntimeOptionPrompt();
  prompt.setKey("packagemanager");
  prompt.setDescription("The package manager to use for installing dependencies");
  prompt.setPrompttype(languagePb.RuntimeOptionPrompt.RuntimeOptionType.STRING);
  prompt.addChoices(npm);
  prompt.setDefault(npm);
  return prompt;
}

/** Ends a stream with the outcome of the work behind it. */
function finish<Request, Response>(
  call: grpc.ServerWritableStream<Request, Response>,
  work: Promise<void>,
): void {
  work.then(
    () => {
      call.end();
    },
    (error: unknown) => {
      call.emit("error", asStatus(error));
    },
  );
}
