/** What tests leave behind is cleared away after the file: tests that run side by side cannot do it one by one. */
import { afterAll } from "vitest";

const pending: (() => void | Promise<void>)[] = [];

/** To be done when all tests of the file have ended, the last one first. The file has called `withCleanup`. */
export function afterwards(work: () => void | Promise<void>): void {
  pending.push(work);
}

/** To be called at the top of a test file. */
export function withCleanup(): void {
  afterAll(async () => {
    for (const work of pending.splice(0).reverse()) await work();
  });
}
