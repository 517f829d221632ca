/**
 * The part of the Reflect metadata API (ECMAScript "metadata reflection" proposal) that `tsyringe`, the
 * container inside `@peculiar/x509`, looks for when it is imported. That library registers ready-made
 * instances and classes without injected parameters, so a table of own metadata is all it ever reads.
 * Must be imported before `@peculiar/x509`.
 */
const table = new WeakMap<object, Map<string, unknown>>();

function own(target: object): Map<string, unknown> {
  let entries = table.get(target);
  if (!entries) {
    entries = new Map();
    table.set(target, entries);
  }
  return entries;
}

const api = {
  defineMetadata: (key: string, value: unknown, target: object): void => {
    own(target).set(key, value);
  },
  getOwnMetadata: (key: string, target: object): unknown => table.get(target)?.get(key),
  getMetadata: (key: string, target: object): unknown => {
    for (let at: object | null = target; at !== null; at = Reflect.getPrototypeOf(at)) {
      const entries = table.get(at);
      if (entries?.has(key)) return entries.get(key);
    }
    return undefined;
  },
};

// A full implementation that someone has loaded already is better than this one: never replace it.
for (const [name, value] of Object.entries(api)) {
  if (!(name in Reflect)) Object.defineProperty(Reflect, name, { value, configurable: true, writable: true });
}
