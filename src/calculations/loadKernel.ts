import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The parts of WebAssembly that kernels use: Node's types leave them to those of browsers. */
export interface KernelMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}
interface Wasm {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
}

/** Compiles and starts a module. Throws if the engine lacks SIMD, which every supported version of Node has. */
export function instantiate<Exports>(wasm: Uint8Array): Exports {
  const { Module, Instance } = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly;
  return new Instance(new Module(wasm)).exports as Exports;
}

/** Folders in which the build puts compiled kernels, relative to the bundle and to this source file. */
const folders = [".", "../../dist"];

/**
 * Returns a function that gives the thread's kernel. The first call starts the kernel from `NAME.wasm`, because this
 * takes milliseconds and memory that only a thread that computes should spend.
 */
export function kernelLoader<Kernel>(name: string, start: (wasm: Uint8Array) => Kernel): () => Kernel {
  let kernel: Kernel | undefined;
  return () => {
    kernel ??= start(readFileSync(kernelFile(name)));
    return kernel;
  };
}

function kernelFile(name: string): string {
  const files = folders.map((folder) => join(import.meta.dirname, folder, `${name}.wasm`));
  const found = files.find((file) => existsSync(file));
  if (found === undefined) throw new Error(`the compiled kernel ${name}.wasm is missing. Run npm run build.`);
  return found;
}
