import { LabError } from "../cluster/errors.ts";

/**
 * Reads what came after `--` as the remote shell behind ssh would: the arguments joined by blanks, then split
 * into words with quotes, and into commands at `&&`. A leading `sudo` is dropped: the machine's user is root.
 * A glob stays as written, as in a shell when no file matches.
 *
 * @throws LabError for anything else a shell knows (`;`, `|`, `$`, redirections): better refused than misread.
 */
export function parseCommands(args: readonly string[]): string[][] {
  const commands: string[][] = [[]];
  for (const word of words(args.join(" "))) {
    if (word.operator) commands.push([]);
    else commands.at(-1)?.push(word.text);
  }
  return commands.map((command) => {
    const bare = command[0] === "sudo" ? command.slice(1) : command;
    if (bare.length === 0) throw new LabError("sh: 1: Syntax error: a command is missing");
    return bare;
  });
}

interface Word {
  readonly text: string;
  readonly operator: boolean;
}

const PIECE = /\s+|&&|'([^']*)'|"([^"$`\\]*)"|([^\s'"&|;<>$`\\(){}#!]+)/uy;

function words(line: string): Word[] {
  const found: Word[] = [];
  let open: string | undefined;
  const close = (): void => {
    if (open !== undefined) found.push({ text: open, operator: false });
    open = undefined;
  };
  PIECE.lastIndex = 0;
  while (PIECE.lastIndex < line.length) {
    const at = PIECE.lastIndex;
    const match = PIECE.exec(line);
    if (!match) {
      throw new LabError(
        `sh: 1: cannot read ${JSON.stringify(line.slice(at))}: a lab's machine reads words, quotes and && only`,
      );
    }
    const [all, single, double, plain] = match;
    if (all === "&&") {
      close();
      found.push({ text: all, operator: true });
    } else if (/^\s/u.test(all)) {
      close();
    } else {
      open = (open ?? "") + (single ?? double ?? plain ?? "");
    }
  }
  close();
  return found;
}
