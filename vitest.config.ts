import { defineConfig } from "vitest/config";

/**
 * `fast` needs nothing but the packages; `real` needs the toolchain and starts labs, one file after the other: two
 * cores, and a lab that starves proves nothing.
 */
export default defineConfig({
  test: {
    reporters: ["default", "./test/closing-line.ts"],
    projects: [
      {
        test: {
          name: "fast",
          include: ["test/**/*.test.ts"],
          exclude: ["test/**/*.real.test.ts"],
          // On a machine where something else runs as well a process may take seconds to start.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "real",
          include: ["test/**/*.real.test.ts"],
          fileParallelism: false,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
