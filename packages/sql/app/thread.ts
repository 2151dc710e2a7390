import { loadCalculations } from "../../../src/calculations/registry.ts";
import { taskRunner } from "../../../src/engine/worker/threads/taskRunner.ts";
import { builtIn } from "../builtIn.ts";

/** Entry of one worker thread, with every calculation that this process knows. */
// biome-ignore lint/style/noDefaultExport: Piscina runs the default export of its file.
export default taskRunner((files) => loadCalculations(files, builtIn));
