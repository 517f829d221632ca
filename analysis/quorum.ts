/** What a step does to the quorum of etcd, judged before the step. Learners have no vote. */

import type { Finding } from "./finding.ts";

export interface Member {
  readonly name: string;
  readonly learner: boolean;
  /** Its process has joined (etcd lists a name and client URLs for it). */
  readonly started: boolean;
  /** Answers its health check. */
  readonly healthy: boolean;
}

export type QuorumStep =
  /** `hostReady`: the new process starts as soon as it is added. */
  | { readonly kind: "add"; readonly name: string; readonly asLearner: boolean; readonly hostReady: boolean }
  | { readonly kind: "promote"; readonly name: string; readonly inSync: boolean }
  /** Leaves by itself or is removed by another. */
  | { readonly kind: "remove"; readonly name: string }
  /** The node is wiped; `graceful`: it leaves etcd first. */
  | { readonly kind: "reset"; readonly name: string; readonly graceful: boolean }
  /** Down for a while, its data kept. */
  | { readonly kind: "stop"; readonly name: string };

export interface QuorumQuestion {
  readonly members: readonly Member[];
  /** Steps taken together; more than one change of members at a time is refused. */
  readonly steps: readonly QuorumStep[];
  /** A fresh, verified snapshot exists. Needed when data goes. */
  readonly freshSnapshot: boolean;
}

/** Votes needed among `voters`: 1 of 1, 2 of 2, 2 of 3, 3 of 4, 3 of 5. */
export const quorum = (voters: number): number => Math.floor(voters / 2) + 1;

/** How many voters may fail with the rest still a quorum. */
export const tolerance = (voters: number): number => Math.max(0, voters - quorum(voters));

export const votersOf = (members: readonly Member[]): Member[] => members.filter(({ learner }) => !learner);

/** The members after a step, if it succeeds. An added member counts as not started unless its host is ready. */
export function after(members: readonly Member[], step: QuorumStep): Member[] {
  switch (step.kind) {
    case "add": {
      const { name, asLearner, hostReady } = step;
      return [...members, { name, learner: asLearner, started: hostReady, healthy: hostReady }];
    }
    case "promote":
      return members.map((member) => (member.name === step.name ? { ...member, learner: false } : member));
    case "remove":
      return members.filter(({ name }) => name !== step.name);
    case "reset":
      // Without leaving first it stays on the list and counts, but never answers again.
      return step.graceful
        ? members.filter(({ name }) => name !== step.name)
        : members.map((member) => (member.name === step.name ? { ...member, healthy: false } : member));
    case "stop":
      return members.map((member) => (member.name === step.name ? { ...member, healthy: false } : member));
  }
}

/** Everything that speaks against the steps. Empty: go on. */
export function quorumFindings({ members, steps, freshSnapshot }: QuorumQuestion): Finding[] {
  const changes = steps.filter(({ kind }) => kind !== "stop");
  if (changes.length > 1) {
    const names = changes.map(({ kind, name }) => `${kind} ${name}`).join(", ");
    return [
      finding(
        "QUORUM-TOGETHER",
        "refuse",
        names,
        `${changes.length} changes of members in one step`,
        "make one change, wait until all members are healthy, then the next",
      ),
    ];
  }
  const findings: Finding[] = [];
  let now = members;
  for (const step of steps) {
    findings.push(...judge(now, step, freshSnapshot));
    now = after(now, step);
  }
  return findings;
}

function judge(members: readonly Member[], step: QuorumStep, freshSnapshot: boolean): Finding[] {
  const subject = `${step.kind} ${step.name}`;
  const known = members.find(({ name }) => name === step.name);
  const refuse = (code: string, message: string, repair: string): Finding =>
    finding(code, "refuse", subject, message, repair);
  const hold = (code: string, message: string, repair: string): Finding =>
    finding(code, "hold", subject, message, repair);
  if (step.kind === "add") return judgeAdd(members, step, known !== undefined, refuse, hold);
  if (known === undefined) {
    return [
      refuse("QUORUM-UNKNOWN", `${step.name} is no member`, "list the members again and name one of them"),
    ];
  }
  if (step.kind === "promote") {
    if (!known.learner) return [];
    const ready = step.inSync && known.started && known.healthy;
    if (!ready)
      return [
        hold(
          "QUORUM-LEARNER",
          `${step.name} is not in sync with the leader yet`,
          "try again until it is, with a time limit",
        ),
      ];
  }
  return [
    ...(step.kind === "promote" ? [] : judgeLoss(members, step, known, freshSnapshot)),
    ...judgeVotes(members, step, refuse),
  ];
}

type Make = (code: string, message: string, repair: string) => Finding;

function judgeAdd(
  members: readonly Member[],
  step: Extract<QuorumStep, { kind: "add" }>,
  exists: boolean,
  refuse: Make,
  hold: Make,
): Finding[] {
  const findings: Finding[] = [];
  if (exists)
    findings.push(refuse("QUORUM-KNOWN", `${step.name} is a member already`, "go on with what follows"));
  const voters = votersOf(members).length;
  if (!step.asLearner) {
    findings.push(
      refuse(
        "QUORUM-ADD-VOTER",
        `as a voter it counts at once, before it runs: ${quorum(voters + 1)} of ${voters + 1} votes are needed, ` +
          `and ${voters} can be given`,
        "add it as a learner, and promote it when it is in sync",
      ),
    );
  }
  if (!step.hostReady)
    findings.push(
      refuse("QUORUM-HOST", "the host of the new member is not ready to start it", "prepare the host first"),
    );
  const waiting = members.find((member) => member.learner || !member.started);
  if (waiting !== undefined && !exists) {
    findings.push(
      hold(
        "QUORUM-LEARNER",
        `${waiting.name} is still a learner or has not started`,
        "promote it first, or remove it",
      ),
    );
  }
  return findings;
}

/** A member that goes: not the last voter, not while another is still a learner, not without a snapshot. */
function judgeLoss(
  members: readonly Member[],
  step: QuorumStep,
  known: Member,
  freshSnapshot: boolean,
): Finding[] {
  const subject = `${step.kind} ${step.name}`;
  const findings: Finding[] = [];
  if (step.kind === "stop" || known.learner) return findings;
  const others = votersOf(members).filter(({ name }) => name !== step.name);
  if (others.length === 0) {
    const learners = members.filter(({ learner }) => learner).map(({ name }) => name);
    const also = learners.length === 0 ? "" : ` (${learners.join(", ")} is a learner and has no vote)`;
    return [
      finding(
        "QUORUM-LAST",
        "refuse",
        subject,
        `${step.name} is the only voter${also}: all data of etcd would go with it`,
        "have another member promoted and healthy first",
      ),
    ];
  }
  for (const learner of members.filter((member) => member.learner && member.name !== step.name)) {
    findings.push(
      finding(
        "QUORUM-LEARNER",
        "hold",
        subject,
        `${learner.name} is still a learner`,
        "promote it first, with a time limit; a learner for hours is a failure",
      ),
    );
  }
  if (step.kind === "reset" && !step.graceful) {
    findings.push(
      finding(
        "QUORUM-RESET",
        "refuse",
        subject,
        "a reset without leaving keeps a member on the list that never answers",
        "let it leave etcd first, then reset it",
      ),
    );
  }
  if (!freshSnapshot)
    findings.push(
      finding("QUORUM-SNAPSHOT", "hold", subject, "there is no fresh, verified snapshot", "take one first"),
    );
  return findings;
}

/** Enough healthy voters must be left, counted among the voters that there are after the step. */
function judgeVotes(members: readonly Member[], step: QuorumStep, refuse: Make): Finding[] {
  const voters = votersOf(after(members, step));
  const healthy = voters.filter((member) => member.healthy && member.started).length;
  const needed = quorum(voters.length);
  if (voters.length === 0 || healthy >= needed) return [];
  return [
    refuse(
      "QUORUM-LOST",
      `leaves ${healthy} healthy voters of ${voters.length}, and ${needed} are needed: etcd would stop`,
      "bring the other members back first",
    ),
  ];
}

function finding(
  code: string,
  severity: Finding["severity"],
  subject: string,
  message: string,
  repair: string,
): Finding {
  return {
    code,
    severity,
    subject: `etcd ${subject}`,
    message,
    rule: "a majority of etcd's voters is healthy at every moment (etcd, runtime reconfiguration)",
    repair,
  };
}
