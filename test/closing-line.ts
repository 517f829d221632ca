/** Closes a test run with one plain line that people and CI can read: `N passed, N failed, N skipped`. */
import type { Reporter, TestModule } from "vitest/node";

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    let passed = 0;
    let skipped = 0;
    // An error outside of any test, and a file that could not be loaded, count as failures of their own.
    let failed = errors.length + modules.filter((module) => module.errors().length > 0).length;
    for (const test of modules.flatMap((module) => [...module.children.allTests()])) {
      const { state } = test.result();
      if (state === "passed") passed += 1;
      else if (state === "failed") failed += 1;
      else skipped += 1;
    }
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
  }
}
