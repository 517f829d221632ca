export { Engine, ok } from "./engine.ts";
export type {
  Deployment,
  EngineOptions,
  EngineResult,
  EngineRun,
  PreviewOptions,
  UpOptions,
} from "./engine.ts";
export { logLines, operations } from "./events.ts";
export type { EngineEvent } from "./events.ts";
export { engineEnvironment } from "./environment.ts";
