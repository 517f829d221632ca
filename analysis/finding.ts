/** What an analysis found. One shape for preview, policy pack, gate and files in CI. */

/**
 * - `refuse`: do not go on; nothing that time alone mends.
 * - `hold`: do not start the next step until the condition named is true.
 * - `warn`: go on, but say it.
 */
export type Severity = "refuse" | "hold" | "warn";

export interface Finding {
  /** Stable, e.g. `PDB-BLOCKS`. Exceptions and documents refer to it. */
  readonly code: string;
  readonly severity: Severity;
  /** What it is about, e.g. `PodDisruptionBudget shop/web`, or a config path such as `upgrade.target`. */
  readonly subject: string;
  /** What is wrong, with the value seen. */
  readonly message: string;
  /** The rule that is broken, with its source. */
  readonly rule: string;
  /** What to do about it. */
  readonly repair: string;
}

export const blocks = (finding: Finding): boolean => finding.severity !== "warn";

/** One readable paragraph for people; `describe` of several is joined by blank lines. */
export function describe(finding: Finding): string {
  return (
    `${finding.severity.toUpperCase()} ${finding.code} ${finding.subject}: ${finding.message}\n` +
    `    rule:   ${finding.rule}\n` +
    `    repair: ${finding.repair}`
  );
}
