/** Objects as an API server sends them, as far as the fakes need them: plain data, not the client library's classes. */
export interface Metadata {
  readonly name?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: readonly object[];
}

export interface Wire {
  readonly metadata?: Metadata;
  readonly spec?: object;
  readonly status?: object;
}

export interface WireNode extends Wire {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: object;
}

export interface WirePod extends Wire {
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

export interface WireBudget extends Wire {
  readonly spec?: {
    readonly minAvailable?: number;
    readonly selector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  };
  readonly status?: { readonly disruptionsAllowed?: number };
}

export const isReady = (pod: WirePod): boolean =>
  pod.status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;

export const covers = (budget: WireBudget, pod: WirePod): boolean =>
  budget.metadata?.namespace === pod.metadata?.namespace &&
  Object.entries(budget.spec?.selector?.matchLabels ?? {}).every(
    ([key, value]) => pod.metadata?.labels?.[key] === value,
  );

export const keyOf = ({ metadata }: Wire): string => `${metadata?.namespace ?? ""}/${metadata?.name ?? ""}`;
