import { loadCalculations } from "../calculations/registry.ts";
import { taskRunner } from "../engine/worker/threads/taskRunner.ts";

/** Entry of one worker thread, where no optional package is. */
// biome-ignore lint/style/noDefaultExport: Piscina runs the default export of its file.
export default taskRunner((files) => loadCalculations(files));
