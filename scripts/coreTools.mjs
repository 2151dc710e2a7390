import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The package of Azure Functions Core Tools. Its install step downloads the host, so nothing here installs it unasked. */
export const coreTools = "azure-functions-core-tools@4";

/**
 * How to run `func`: the program that is installed beside the app or on the path, or else npx, which fetches it once. npx is
 * worth a try only where it can, which `canFetch` tells.
 *
 * @param {string} root the folder of the app
 * @param {string} path the variable PATH
 * @param {() => boolean} canFetch runs `func --version` by npx
 * @returns {readonly string[] | undefined} the command and its first arguments
 */
export function coreToolsCommand(root, path, canFetch) {
  const names = process.platform === "win32" ? ["func.exe", "func.cmd"] : ["func"];
  const folders = [join(root, "node_modules", ".bin"), ...path.split(delimiter).filter(Boolean)];
  for (const folder of folders) {
    for (const file of names.map((name) => join(folder, name))) {
      try {
        accessSync(file, constants.X_OK);
        return [file];
      } catch {
        // Not in this one.
      }
    }
  }
  return canFetch() ? byNpx : undefined;
}

/** `func` by npx. */
export const byNpx = ["npx", "--yes", "--package", coreTools, "func"];
