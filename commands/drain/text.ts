/** The output of a drain, in the words of `kubectl drain`, from its journal: whole also when several runs made it. */
import { podKey } from "../../analysis/drain-filters.ts";
import type { Journal } from "./journal.ts";
import type { DrainView } from "./view.ts";

export function drainText(nodes: readonly string[], view: DrainView, journal: Journal): string[] {
  return nodes.flatMap((node) => {
    const daemons = view.skippedDaemons(node).map(podKey);
    return [
      `node/${node} cordoned`,
      ...(daemons.length === 0 ? [] : [`Warning: ignoring DaemonSet-managed Pods: ${daemons.join(", ")}`]),
      ...journal.entries
        .filter((entry) => entry.node === node)
        .flatMap((entry) => lineOf(entry.event, entry.pod)),
      `node/${node} drained`,
    ];
  });
}

function lineOf(event: string, pod: string): string[] {
  if (event === "asked") return [`evicting pod ${pod}`];
  if (event === "gone") return [`pod/${pod.slice(pod.indexOf("/") + 1)} evicted`];
  return [];
}
