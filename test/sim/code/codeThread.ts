import { parentPort, workerData } from "node:worker_threads";
import { linkedModules } from "./linkedModules.ts";
import type { Code, Play } from "./simulationCode.ts";

// Thousands of refusals are made and thrown away; nobody reads where they came from.
Error.stackTraceLimit = 0;

const code: Code = workerData;
const modules = linkedModules(code);
interface Entry {
  play(one: unknown): Promise<unknown>;
}
/** Cases of one mutant come one after the other. */
let last: { readonly changed: string; readonly entry: Entry } | undefined;

parentPort?.on("message", async ({ one, changed }: Play) => {
  const text = JSON.stringify([...changed]);
  if (last?.changed !== text) last = { changed: text, entry: modules.link(code.entry, changed) as Entry };
  parentPort?.postMessage(await last.entry.play(one));
});
