import { existsSync } from "node:fs";
import * as module from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ConfigError } from "../model/errors.ts";
import { noteImport, noteLoad } from "./moduleGraph.ts";

let hooked = false;

/**
 * Makes `import "leasefold"` work from a user's file wherever it lies, in this thread, and has `moduleGraph.ts` note what
 * a file imports. The library is `leasefold.mjs` beside the bundle, or `leasefold.ts` beside this file.
 */
export function resolveLeasefold(): void {
  if (hooked) return;
  if (module.registerHooks === undefined) {
    throw new ConfigError(
      "old-node",
      `your own calculations need Node 22.15 or newer; this is ${process.version}`,
    );
  }
  const file = ["leasefold.mjs", "leasefold.ts"]
    .map((name) => join(import.meta.dirname, name))
    .find((path) => existsSync(path));
  if (file === undefined)
    throw new ConfigError("no-library", "leasefold.mjs is missing beside the app; run npm run build");
  const url = pathToFileURL(file).href;
  module.registerHooks({
    resolve(specifier, context, next) {
      if (specifier === "leasefold") return { url, shortCircuit: true };
      const found = next(specifier, context);
      noteImport(context.parentURL, specifier, found.url);
      return found;
    },
    load(url, context, next) {
      noteLoad(url);
      return next(url, context);
    },
  });
  hooked = true;
}
