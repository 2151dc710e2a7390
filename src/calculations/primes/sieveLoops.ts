import { instantiate } from "../kernels/loadKernel.ts";
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
export function instantiateSieve(wasm: Uint8Array): {
  loops: SieveLoops;
  /** One function per class, in the order of `residues`, for turns of so many strokes. */
  crossTurns: Record<8 | 48, CrossTurns[]>;
} {
  const loops = instantiate<SieveLoops & Readonly<Record<`turnsOf${string}`, CrossTurns>>>(wasm);
  const byClass = (strokes: number): CrossTurns[] =>
    residues.map((residue) => loops[`turnsOf${strokes}class${residue}`] as CrossTurns);
  return { loops, crossTurns: { 8: byClass(8), 48: byClass(48) } };
}
