import { instantiate, type KernelGlobal, type KernelMemory, kernelLoader } from "../../loadKernel.ts";
import type { Cells, CutRows } from "../cells/cells.ts";

/** Cuts records of `block[from, length)` and returns where the next one begins. */
type Cut = (block: number, from: number, length: number) => number;

/** The exports of `../assembly/index.ts`, documented there. The globals are addresses and a count. */
interface Loops extends Readonly<Record<"cutRecords" | "cutObjects", Cut>> {
  readonly memory: KernelMemory;
  readonly cellsMax: KernelGlobal;
  readonly kinds: KernelGlobal;
  readonly starts: KernelGlobal;
  readonly ends: KernelGlobal;
  readonly numbers: KernelGlobal;
  readonly records: KernelGlobal;
  readonly task: KernelGlobal;
  readonly found: KernelGlobal;
  readonly present: KernelGlobal;
  readonly table: KernelGlobal;
}

const pageBytes = 64 * 1024;
/** Bytes behind a block that the loops may read. */
const spareBytes = 64;
/** Bytes of a table and a batch for which there is room as a rule. */
const usualBytes = 96 * 1024;

/** One instance of the loops, with room for a table and a batch of so many bytes. */
function kernelOf(wasm: Uint8Array, room: number) {
  const loops = instantiate<Loops>(wasm);
  const [table, cellsMax] = [loops.table.value, loops.cellsMax.value];
  const missing = table + room - loops.memory.buffer.byteLength;
  if (missing > 0) loops.memory.grow(Math.ceil(missing / pageBytes));
  const { buffer } = loops.memory;
  const places = ({ value }: KernelGlobal) => new Int32Array(buffer, value, cellsMax);
  const rows: CutRows = {
    kinds: new Uint8Array(buffer, loops.kinds.value, cellsMax),
    starts: places(loops.starts),
    ends: places(loops.ends),
    numbers: new Float64Array(buffer, loops.numbers.value, cellsMax),
    records: places(loops.records),
  };
  return {
    ...{ loops, room, cellsMax, rows },
    /** Of the table, with the batch behind it. */
    bytes: new Uint8Array(buffer, table),
    task: new Int32Array(buffer, loops.task.value, 4),
    found: new Int32Array(buffer, loops.found.value, 3),
    present: new Uint8Array(buffer, loops.present.value, cellsMax),
  };
}

/** The thread's instance, and how to make another one. */
const loadKernel = kernelLoader("aggregate", (wasm) => ({
  usual: kernelOf(wasm, usualBytes),
  larger: (room: number) => kernelOf(wasm, room),
}));

/** What the columns are, for the loops: `task` is what they expect behind the cells and the rows, and `table` their table. */
interface CutTask {
  readonly width: number;
  readonly table: Uint8Array;
  readonly task: readonly number[];
}

/** Cuts batches in the memory of the loops. Others of the thread may use it between two batches. */
export class CutKernel {
  /** A batch with a long record gets an instance of its own, since memory never shrinks; it goes with the range. */
  #kernel = loadKernel().usual;
  readonly #of: CutTask;
  readonly #rowsMax: number;
  /** Where the batch begins behind the table. */
  readonly #block: number;
  #length = 0;

  constructor(of: CutTask) {
    const { cellsMax } = this.#kernel;
    const { width, table } = of;
    if (width > cellsMax) throw new Error(`${width} columns are more than ${cellsMax}`);
    this.#of = of;
    this.#rowsMax = width === 0 ? cellsMax : Math.floor(cellsMax / width);
    this.#block = Math.ceil(table.length / 16) * 16;
  }

  begin({ bytes }: Cells): void {
    const room = this.#block + bytes.length + spareBytes;
    if (room > this.#kernel.room) this.#kernel = loadKernel().larger(room * 2);
    const kernel = this.#kernel;
    const { width, table, task } = this.#of;
    kernel.bytes.set(table);
    kernel.bytes.set(bytes, this.#block);
    kernel.task.set([width, this.#rowsMax, ...task]);
    kernel.present.fill(0, 0, width);
    this.#length = bytes.length;
  }

  /**
   * Adds the rows of the records from byte `from` of the batch on: as many as are cut at once, or up to one that cannot be
   * cut. Returns where the next record begins.
   */
  cut(loop: "cutRecords" | "cutObjects", cells: Cells, from: number): number {
    const { loops, rows, found } = this.#kernel;
    const next = loops[loop](loops.table.value + this.#block, from, this.#length);
    cells.append(rows, found[0] as number);
    return next;
  }

  /** Whether cells were added that have to be read. */
  get hasRaw(): boolean {
    return this.#kernel.found[1] !== 0;
  }

  /** The record that could not be cut: where it begins, and its fields if it is of CSV. */
  get stopped(): { readonly at: number; readonly fields: number } | undefined {
    const [rows = 0, , fields = 0] = this.#kernel.found;
    return fields === 0 ? undefined : { at: this.#kernel.rows.records[rows] as number, fields };
  }

  /** Whether one of the records cut in this batch had the wanted name. */
  hasHad(place: number): boolean {
    return this.#kernel.present[place] === 1;
  }
}
