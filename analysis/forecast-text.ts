/** A drain's forecast in lines for people, as a preview shows them. */

import type { Forecast } from "./drain-forecast.ts";

const LISTED = 20;

/** Nodes in order, pods, budgets in the way, expected time; long lists are cut, with a line that says so. */
export function forecastText(forecast: Forecast): string[] {
  const { nodes, evictions, budgets, stuck } = forecast;
  const slow = budgets.filter(({ waits }) => waits > 0);
  const time = stuck.length === 0 ? seconds(forecast.expectedSeconds) : "does not end";
  return [
    `drain of ${count(nodes.length, "node")}, ${count(evictions.length, "eviction")}: ${time}` +
      ` (the budgets alone: ${seconds(forecast.shortestSeconds)})`,
    ...cut(
      nodes.map(({ node, pods, startsAt, emptyAt }, index) => {
        const from = startsAt === null ? "never starts" : `from ${seconds(startsAt)}`;
        return `  ${index + 1}. ${node}: ${count(pods, "pod")}, ${from}, ${emptyAt === null ? "never empty" : `empty at ${seconds(emptyAt)}`}`;
      }),
      "nodes",
    ),
    ...cut(
      slow.map(
        ({ budget, pods, atOnce, waits, longestWaitSeconds }) =>
          `  budget ${budget} slows it down: ${count(pods, "pod")}, ${atOnce} at once, ${waits} wait, longest ${seconds(longestWaitSeconds)}`,
      ),
      "budgets",
    ),
    ...cut(
      stuck.map(({ pod, node, why }) => `  pod ${pod} never leaves ${node}: ${why}`),
      "pods",
    ),
  ];
}

function cut(lines: readonly string[], what: string): string[] {
  if (lines.length <= LISTED) return [...lines];
  return [...lines.slice(0, LISTED), `  … and ${lines.length - LISTED} more ${what}`];
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;

/** `45 s`, `3 min 20 s`, `1 h 5 min`. Rounded up: a forecast must not promise less. */
export function seconds(value: number): string {
  const whole = Math.ceil(value);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min${whole % 60 === 0 ? "" : ` ${whole % 60} s`}`;
  const minutes = Math.ceil(whole / 60);
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? "" : ` ${minutes % 60} min`}`;
}
