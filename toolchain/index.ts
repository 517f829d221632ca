/** Finds or builds every program the lab runs, each pinned by version and checksum. See README.md. */
export { ensure } from "./ensure.ts";
export type { EnsureOptions } from "./ensure.ts";
export { ToolchainError, ToolchainInterrupted } from "./errors.ts";
export type { Located } from "./find.ts";
export { pins } from "./pins.ts";
export type { Pin, ToolId } from "./pins.ts";
export { kwokStages, stageFolders } from "./stages.ts";
