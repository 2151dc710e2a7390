import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../model/errors.ts";
import { javaScriptKernel } from "./javaScriptKernel.ts";
import type { SieveKernel } from "./sieveKernel.ts";
import { webAssemblyKernel } from "./webAssemblyKernel.ts";

/** Where the build puts the compiled kernel, seen from the bundle, which lies beside it, and from this source. */
const places = ["primes.wasm", "../../../dist/primes.wasm"].map((name) => join(import.meta.dirname, name));

let loaded: SieveKernel | undefined;

/**
 * The thread's kernel, made at the first call and then kept, as it takes a few milliseconds and a megabyte.
 * LEASEFOLD_WASM=false asks for the one in JavaScript.
 */
export function loadSieveKernel(): SieveKernel {
  loaded ??= fastestKernel(process.env["LEASEFOLD_WASM"] === "false" ? [] : places);
  return loaded;
}

/**
 * The compiled kernel from the first of `files` that exists; the one in JavaScript, which is slower and counts the
 * same, where there is none or the engine does not take it.
 */
export function fastestKernel(files: readonly string[]): SieveKernel {
  const file = files.find((name) => existsSync(name));
  if (file === undefined) return javaScriptKernel();
  try {
    return webAssemblyKernel(readFileSync(file));
  } catch (error) {
    process.emitWarning(
      `${file} does not run here, so primes are counted in JavaScript: ${messageOf(error)}`,
    );
    return javaScriptKernel();
  }
}
