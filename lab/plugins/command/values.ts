/**
 * Property values as they travel between engine and provider: plain JSON in which secrets, unknowns and assets are
 * marked by signature keys (sdk/go/common/resource/plugin/rpc.go, sdk/go/common/resource/sig).
 */
export const signatureKey = "4dabf18193072939515e22adb298388d";
export const secretSignature = "1b47061264138c4ac30d75fd1eb44270";
export const assetSignature = "c44067f5952c0a294b673a41bacd8c17";
export const archiveSignature = "0def7320c3a5731c473e5ecbe6d01bc7";

/** The engine's stand-in for a string that is not known yet. */
export const unknownString = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

const unknowns: ReadonlySet<unknown> = new Set([
  unknownString,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7", // boolean
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421", // number
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2", // array
  "030794c1-ac77-496b-92df-f27374a8bd58", // asset
  "e48ece36-62e2-4504-bad9-02848725956a", // archive
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff", // object
]);

export type Properties = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isUnknown(value: unknown): boolean {
  return unknowns.has(value);
}

export function isSecret(value: unknown): value is { readonly value: unknown } {
  return isObject(value) && value[signatureKey] === secretSignature;
}

/** Assets, archives and resource references: values that are compared and passed on as a whole. */
export function isSigned(value: unknown): boolean {
  return isObject(value) && typeof value[signatureKey] === "string" && !isSecret(value);
}

/** The value inside, however deep secrets are nested in it. */
export function reveal(value: unknown): unknown {
  if (isSecret(value)) return reveal(value.value);
  if (Array.isArray(value)) return value.map(reveal);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, reveal(v)]));
  return value;
}

export function containsUnknown(value: unknown): boolean {
  if (isUnknown(value)) return true;
  if (Array.isArray(value)) return value.some(containsUnknown);
  return isObject(value) && Object.values(value).some(containsUnknown);
}

/** Equal as the engine sees it: a secret differs from the same value in the open, files are equal by their hash. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => deepEqual(item, b[i]));
  }
  if (isObject(a) && isObject(b)) {
    if (isSigned(a) && isSigned(b) && typeof a["hash"] === "string" && typeof b["hash"] === "string") {
      return a[signatureKey] === b[signatureKey] && a["hash"] === b["hash"];
    }
    const keys = Object.keys(a);
    return (
      keys.length === Object.keys(b).length && keys.every((k) => Object.hasOwn(b, k) && deepEqual(a[k], b[k]))
    );
  }
  return Object.is(a, b);
}

/** Without nulls at the top, which mean "not given". */
export function withoutNulls(properties: Properties): Record<string, unknown> {
  return Object.fromEntries(Object.entries(properties).filter(([, v]) => v !== null && v !== undefined));
}
