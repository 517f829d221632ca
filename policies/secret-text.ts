/** Does a text hold a secret? Says what kind, never which. */

const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ["a private key", /-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----/],
  ["a bootstrap token", /\b[a-z0-9]{6}\.(?=[a-z]*[0-9])[a-z0-9]{16}\b/],
  ["an AWS access key", /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ["a GitHub token", /\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,})/],
  ["a Slack token", /\bxox[abprs]-[A-Za-z0-9-]{10,}/],
  ["a Vault token", /\bhv[sb]\.[A-Za-z0-9_-]{20,}/],
  ["a Pulumi token", /\bpul-[0-9a-f]{40}\b/],
  ["an age key", /\bAGE-SECRET-KEY-1[0-9A-Z]{20,}/],
  ["a signed token (JWT)", /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/],
  ["a bearer token", /\bbearer\s+(?![$<{])[A-Za-z0-9._~+/=-]{12,}/i],
  ["a password in an address", /:\/\/[^/\s:@$<{"']+:(?![$<{])[^/\s:@"']{3,}@/],
];

/**
 * `password=…`, `"token": "…"`, `--client-secret …`. Begins at the telling word: what the name has in front of it is looked
 * up behind (a prefix in the pattern would be tried anew at each letter of a long text).
 */
const NAMED =
  /(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|client-key-data|access[_-]?key)(?<rest>[A-Za-z0-9_-]{0,40})(?:\\?["'])?(?<sign>\s{0,3}[:=]\s{0,3}|\s{1,3})(?:\\?["'])?(?<value>[^\s"'\\,;})]{6,})/gi;

export function secretIn(text: string): string | null {
  for (const [kind, pattern] of KINDS) if (pattern.test(text)) return kind;
  if (encodedPrivateKey(text)) return "a private key (base64)";
  for (const { groups, index } of text.matchAll(NAMED)) {
    const { rest = "", sign = "", value = "" } = groups ?? {};
    const prefix = /[A-Za-z0-9_-]*$/.exec(text.slice(Math.max(0, index - 40), index))?.[0] ?? "";
    // `--token VALUE` is an option; `the token of …` is a sentence.
    const assigned = sign.trim() !== "" || prefix.startsWith("-");
    if (assigned && isLiteral(value) && !isReferenceName(rest)) return "a password or token";
  }
  return null;
}

/** Does a variable of this name and value hold a secret itself, not the way to one? */
export function secretName(name: string, value: unknown): boolean {
  const says = /(password|passwd|passphrase|secret|token|api_?key|private_?key|access_?key)/i.test(name);
  return says && !isReferenceName(name) && typeof value === "string" && isLiteral(value);
}

const isReferenceName = (name: string): boolean =>
  /[_-]?(file|path|dir|name|ref|url|uri|id|ttl|type)$/i.test(name);

/** Not a variable, a placeholder, a path, or a word too short to keep a secret. */
function isLiteral(value: string): boolean {
  return (
    value.length >= 6 &&
    !/^[$<{(`~./*]/.test(value) &&
    !/^(true|false|null|none|undefined|required|optional|file:.*|[a-z]+:\/\/.*)$/i.test(value)
  );
}

/** Base64 of a PEM file: certificates begin alike, so what it says is looked at. */
function encodedPrivateKey(text: string): boolean {
  return [...text.matchAll(/LS0tLS1CRUdJTi[A-Za-z0-9+/]{10,}/g)].some(([encoded]) =>
    Buffer.from(encoded.slice(0, 64), "base64").toString("latin1").includes("PRIVATE KEY"),
  );
}
