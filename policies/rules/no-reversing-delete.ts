import { isCommand } from "../documents.ts";
import { read } from "../reading.ts";
import { undecided, violation, type Rule } from "../rule.ts";

export const noReversingDelete: Rule = {
  name: "no-reversing-delete",
  demands: "A Command has no `delete` script, unless it is deleted before it is replaced.",
  why: "a replacement runs the new `create` first and the old `delete` last: what `create` did is undone (pulumi/pulumi#2877, pulumi/pulumi-command#189)",
  repair:
    "leave `delete` out and undo in a stage of its own; or set `deleteBeforeReplace: true` and accept that the object is gone for a moment",
  resource: (one) => {
    if (!isCommand(one) || one.opts.deleteBeforeReplace) return [];
    const script = read(one, "delete");
    if (script.state === "unknown") return [undecided(one, script.property)];
    if (script.state === "absent" || script.value === "") return [];
    return [
      violation(
        one,
        `Command '${one.name}' has a \`delete\` script, which a replacement runs after the new \`create\``,
      ),
    ];
  },
};
