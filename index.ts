import { run } from "./plans/run.ts";

export default run;
