import { pathToFileURL } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { loadedFiles, resolveLeasefold } from "../../src/engine/calculation/moduleGraph.ts";
import { ConfigError, messageOf } from "../../src/engine/model/errors.ts";
import { builtIn } from "../sql/builtIn.ts";

/** What became of files that were loaded beside each other. */
export interface LoadReport {
  /** Why they do not load. */
  readonly error?: string | undefined;
  /** By URL: the hashes of all files that were loaded, as they were then. A file that an import did not find is `gone`. */
  readonly hashes: Readonly<Record<string, string>>;
}

/** The entry of the thread that tries whether files of calculations load. Its data are their paths. */
async function main(files: readonly string[]): Promise<void> {
  resolveLeasefold();
  const urls = files.map((file) => pathToFileURL(file).href);
  for (const url of urls) {
    // What it throws is thrown again below.
    await import(url).catch(() => {});
    parentPort?.postMessage("loaded");
  }
  let error: string | undefined;
  let missing: readonly (readonly [string, string])[] = [];
  await loadCalculations(files, builtIn).catch((cause: unknown) => {
    error = messageOf(cause);
    if (cause instanceof ConfigError) missing = missingFile(cause.cause);
  });
  const hashes = Object.fromEntries([...missing, ...urls.flatMap(loadedFiles)]);
  parentPort?.postMessage({ error, hashes } satisfies LoadReport);
}

/** Node names the file that an import did not find. */
function missingFile(cause: unknown): readonly (readonly [string, string])[] {
  const url = (cause as { url?: unknown } | undefined)?.url;
  return typeof url === "string" && url.startsWith("file:") ? [[url, "gone"]] : [];
}

void main(workerData as readonly string[]);
