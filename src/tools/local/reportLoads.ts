import { registerHooks } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Report } from "./instanceMessages.ts";

/**
 * Reports a file of a calculation right before Node loads it in this thread: its own code may block the instance for ever,
 * and then only the supervisor can tell which file it was. `named` is the setting, paths separated by commas.
 */
export function reportLoads(named: string, appDir: string, report: Report): void {
  const files = named.split(",").filter((file) => file.trim() !== "");
  const byUrl = new Map(files.map((file) => [pathToFileURL(resolve(appDir, file.trim())).href, file.trim()]));
  registerHooks({
    load(url, context, next) {
      const file = byUrl.get(url);
      if (file !== undefined) report({ kind: "loading", file });
      return next(url, context);
    },
  });
}
