// Pulumi starts every policy pack with ts-node registered for `require` of `.ts` (@pulumi/pulumi, run-policy-pack/run.js):
// that type-checks at each start, and refuses imports that end in `.ts`. `import()` goes past `require`, so Node itself
// strips the types. The promise is exported because Pulumi awaits what the pack's main exports: a pack that fails to load
// then fails the preview.
module.exports = import("./pack.ts");
