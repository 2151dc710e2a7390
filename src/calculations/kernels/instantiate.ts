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
