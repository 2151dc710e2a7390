import { residues } from "./wheel.ts";

/** What `assembly/index.ts` exports; its files say what each does. Most arguments are addresses or bytes. */
export interface SieveLoops {
  readonly memory: WebAssembly.Memory;
  preSieve(table: number, at: number, end: number, fresh: number): void;
  placeTurns(first: number, last: number, turns: number, start: number, origin: number): void;
  placeSparse(first: number, last: number, start: number): void;
  crossSparse(residueClass: number, first: number, last: number, origin: number, bytes: number): void;
  moveStrokes(from: number, to: number, bytes: number): void;
  rewind(first: number, last: number, bytes: number): void;
  countZeros(at: number, end: number): number;
}

/** Crosses out multiples of the primes of one class. */
export type CrossTurns = (first: number, last: number, end: number) => void;

/** Compiles and starts the module. Throws where the engine has no WebAssembly or no SIMD in it. */
export function instantiate(wasm: Uint8Array): {
  loops: SieveLoops;
  /** One function per class, in the order of `residues`, for turns of so many strokes. */
  crossTurns: Record<8 | 48, CrossTurns[]>;
} {
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm));
  const byClass = (strokes: number): CrossTurns[] =>
    residues.map((residue) => exports[`turnsOf${strokes}class${residue}`] as CrossTurns);
  return { loops: exports as unknown as SieveLoops, crossTurns: { 8: byClass(8), 48: byClass(48) } };
}

// Node's types leave this to those of browsers.
declare global {
  namespace WebAssembly {
    class Memory {
      readonly buffer: ArrayBuffer;
      grow(pages: number): number;
    }
    class Module {
      constructor(bytes: Uint8Array);
    }
    class Instance {
      constructor(module: Module);
      readonly exports: Readonly<Record<string, unknown>>;
    }
  }
}
