/** The skew template that the config names: read, parsed, judged. Used at preview to refuse it early, and by the command that fills it in. */
import { readFileSync } from "node:fs";
import { parse as parseYaml } from "yaml";
import type { Finding } from "../analysis/finding.ts";
import { fillSkewTemplate, type SkewDocument } from "../analysis/skew-template.ts";
import { SKEW_ANSWER_KEYS } from "../analysis/skew.ts";
import { formatMinor, minorOf } from "../analysis/versions.ts";
import { expandHome } from "../cluster/connect.ts";

export type TemplateResult =
  | { readonly ok: true; readonly document: SkewDocument }
  | { readonly ok: false; readonly findings: readonly Finding[] };

/**
 * @param file  path of the template; undefined: one for this API server
 * @param serverVersion  of the live API server, e.g. `v1.34.4`
 */
export function answerTemplate(file: string | undefined, serverVersion: string): TemplateResult {
  if (file === undefined) {
    const answers = Object.fromEntries(SKEW_ANSWER_KEYS.map((key) => [key, "?"]));
    return fillSkewTemplate({ apiserver: formatMinor(minorOf(serverVersion)), answers });
  }
  let parsed: unknown;
  try {
    parsed = parseYaml(readFileSync(expandHome(file), "utf8"));
  } catch (error) {
    const why =
      (error as NodeJS.ErrnoException).code === "ENOENT" ? "there is no such file" : (error as Error).message;
    return {
      ok: false,
      findings: [
        {
          code: "SKEW-TEMPLATE",
          severity: "refuse",
          subject: "cluster-migration:upgrade.skewTemplate",
          message: `'${file}' cannot be read: ${why}`,
          rule: "a YAML document with `apiserver` and `answers`",
          repair:
            "correct the path or the document, or leave the setting out: a template is then made for this cluster",
        },
      ],
    };
  }
  const filled = fillSkewTemplate(parsed);
  if (filled.ok) return filled;
  const subject = (finding: Finding): string =>
    `cluster-migration:upgrade.skewTemplate '${file}': ${finding.subject}`;
  return {
    ok: false,
    findings: filled.findings.map((finding) => ({ ...finding, subject: subject(finding) })),
  };
}
