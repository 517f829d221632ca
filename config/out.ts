/** The folder for artefacts and evidence, looked at before anything is planned: evidence that can't be kept is none. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import path from "node:path";
import type { Finding } from "../analysis/finding.ts";

export function outFindings(out: string): Finding[] {
  const finding = (message: string): Finding[] => [
    {
      code: "OUT-NOT-WRITABLE",
      severity: "refuse",
      subject: "cluster-migration:out",
      message,
      rule: "artefacts and evidence are written there by every stage",
      repair: "pulumi config set out FOLDER, one that can be made and written",
    },
  ];
  let at = path.resolve(out);
  while (!existsSync(at)) at = path.dirname(at);
  if (!statSync(at).isDirectory())
    return finding(`'${out}' cannot be made: '${path.relative(".", at)}' is not a folder`);
  try {
    accessSync(at, constants.W_OK | constants.X_OK);
    return [];
  } catch {
    return finding(`'${out}' cannot be written: no right to write in '${path.relative(".", at) || "."}'`);
  }
}
