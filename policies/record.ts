/** The record of the stage last begun, as it stands in a stack. */
import { RECORD } from "../analysis/stage-record.ts";
import { readText } from "./reading.ts";
import type { ResourceView, StackView } from "./view.ts";

export function recordsOf(stack: StackView): readonly ResourceView[] {
  return stack
    .ofType("kubernetes:core/v1:ConfigMap")
    .filter(
      (one) =>
        readText(one, "metadata", "name").text === RECORD.name &&
        readText(one, "metadata", "namespace").text === RECORD.namespace,
    );
}
