import { local } from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import { INPUT_VARIABLE, type CommandDocument, type CommandResult } from "../commands/document.ts";

export interface ClusterCommandArgs {
  /** Plain, so that preview, policies and people see what will run. */
  readonly document: CommandDocument;
  /** Standard output of an earlier command that this one is bound to, e.g. the snapshot it relies on. */
  readonly input?: pulumi.Input<string>;
  /** A change runs the command again. */
  readonly triggers: readonly (string | number)[];
}

/** Everything that could make the engine run a command again. */
const INPUTS = [
  "create",
  "update",
  "delete",
  "stdin",
  "environment",
  "triggers",
  "dir",
  "interpreter",
  "logging",
];

/**
 * One command on the live cluster. It can be run again at any time, does on the way back nothing by itself (no `delete`:
 * a replacement would run it last and undo the new state), and leaves evidence.
 */
export class ClusterCommand extends pulumi.ComponentResource {
  readonly name: string;
  /** For `dependsOn`: the custom resource that really waits. */
  readonly resource: local.Command;
  /** Raw standard output, to hand on as `input`. */
  readonly stdout: pulumi.Output<string>;
  readonly evidence: pulumi.Output<CommandResult["evidence"]>;

  constructor(name: string, args: ClusterCommandArgs, opts?: pulumi.ComponentResourceOptions) {
    super("cluster-migration:index:ClusterCommand", name, {}, opts);
    this.name = name;
    this.resource = new local.Command(
      name,
      {
        // The packages' own Node first: commands need the one that strips types. No path of this machine in the state.
        create: 'PATH="$PWD/node_modules/.bin:$PATH" exec node commands/main.ts',
        stdin: JSON.stringify(args.document),
        environment: args.input === undefined ? {} : { [INPUT_VARIABLE]: args.input },
        triggers: [...args.triggers],
        logging: "stderr",
      },
      pulumi.mergeOptions({ parent: this }, args.document.history ? { ignoreChanges: INPUTS } : {}),
    );
    this.stdout = this.resource.stdout;
    this.evidence = this.stdout.apply((text) => (JSON.parse(text) as CommandResult).evidence);
    this.registerOutputs({ evidence: this.evidence });
  }
}
