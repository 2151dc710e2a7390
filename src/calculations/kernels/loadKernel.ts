import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { messageOf } from "../../model/errors.ts";

/**
 * What a compiled kernel exports. Throws where the engine has no WebAssembly, or not what the module needs of
 * it, such as SIMD.
 */
export function instantiate<Exports>(wasm: Uint8Array): Exports {
  return new WebAssembly.Instance(new WebAssembly.Module(wasm)).exports as Exports;
}

// Node's types leave this to those of browsers.
declare global {
  namespace WebAssembly {
    class Memory {
      readonly buffer: ArrayBuffer;
      grow(pages: number): number;
    }
    class Global {
      readonly value: number;
    }
    class Module {
      constructor(bytes: Uint8Array);
    }
    class Instance {
      constructor(module: Module);
      readonly exports: unknown;
    }
  }
}

/** The two kernels of a calculation, which give the same bits. */
export interface Kernels<Kernel> {
  /** Of the calculation, and so of the compiled module. */
  readonly name: string;
  /** Throws where the engine does not take the module. */
  readonly webAssembly: (wasm: Uint8Array) => Kernel;
  readonly javaScript: () => Kernel;
}

/** Where the build puts compiled kernels, seen from the bundle, which lies beside them, and from this source. */
const folders = [".", "../../../dist"];

/**
 * Gives the thread's kernel, made at the first call and then kept, as it takes milliseconds and memory.
 * LEASEFOLD_WASM=false asks for the one in JavaScript.
 */
export function kernelLoader<Kernel>(kernels: Kernels<Kernel>): () => Kernel {
  let loaded: Kernel | undefined;
  return () => {
    const files = folders.map((folder) => join(import.meta.dirname, folder, `${kernels.name}.wasm`));
    loaded ??= fastestKernel(kernels, process.env["LEASEFOLD_WASM"] === "false" ? [] : files);
    return loaded;
  };
}

/**
 * The compiled kernel from the first of `files` that exists; the one in JavaScript, which is slower, where there
 * is none or the engine does not take it.
 */
export function fastestKernel<Kernel>(
  { name, webAssembly, javaScript }: Kernels<Kernel>,
  files: readonly string[],
): Kernel {
  const file = files.find((one) => existsSync(one));
  if (file === undefined) return javaScript();
  try {
    return webAssembly(readFileSync(file));
  } catch (error) {
    process.emitWarning(`${file} does not run here, so ${name} runs in JavaScript: ${messageOf(error)}`);
    return javaScript();
  }
}
