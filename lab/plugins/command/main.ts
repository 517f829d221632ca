/** Entry point; started by the engine through the wrapper that install.ts writes. */
import { engineAddressFrom } from "../shared/rpc.ts";
import { runPlugin } from "../shared/plugin-main.ts";
import { CommandProvider, standInVersion } from "./provider.ts";

const args = process.argv.slice(2);
if (args.includes("--version") || args.includes("-version")) {
  process.stdout.write(`${standInVersion()}\n`);
} else {
  await runPlugin(engineAddressFrom(args), (engine) => new CommandProvider(engine));
}
