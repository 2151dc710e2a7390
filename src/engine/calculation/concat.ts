import { types } from "node:util";
import type { ZodType } from "zod";
import { CalculationError } from "../model/errors.ts";
import { fileListSchema, type SavedFile } from "../model/fileList.ts";
import type { AnyCalculation, Calculation, Chunk, ResultBytes } from "./contract.ts";
import type { Files } from "./files.ts";

/**
 * Calculations whose result is one long sequence: what the chunks give, in index order. The chunks of a pack share files, a
 * partial lists files, and the finisher streams them into the result. So no memory ever holds it.
 *
 * Not promised: which chunks share a file. That depends on the packs; the result does not.
 */
export interface ConcatDefinition<Params, Input, Shared = void>
  extends Pick<
    Calculation<Params, Input, unknown, ResultBytes, Shared>,
    "name" | "version" | "byInput" | "codeFiles" | "concurrency" | "summary" | "plan" | "setup" | "end"
  > {
  readonly params: ZodType<Params>;
  /** Gives the bytes of one chunk, or its text, which becomes UTF-8. A thread holds them whole: some MB are best. */
  compute(chunk: Chunk<Params, Input, Shared>): Uint8Array | string | Promise<Uint8Array | string>;
  readonly output: {
    /** Both as in a result; see `ResultBytes`. */
    readonly contentType: string;
    readonly extension: string;
    /** Text before the first chunk, such as a line of column names. */
    readonly head?: string;
  };
}

/** What a chunk gave: undefined files until it is saved, and none where its bytes are in the file of an earlier chunk. */
interface Piece {
  files?: readonly SavedFile[];
}

/**
 * A calculation that puts the bytes of its chunks behind each other; it needs no `merge`, `zero` or `finish`. Of a run with gaps the
 * result has the other chunks.
 */
export function defineConcatCalculation<Params, Input, Shared = void>(
  definition: ConcatDefinition<Params, Input, Shared>,
): AnyCalculation & { readonly params: ZodType<Params> } {
  const { contentType, extension, head = "" } = definition.output;
  return Object.freeze<AnyCalculation & { readonly params: ZodType<Params> }>({
    ...(definition as unknown as Pick<AnyCalculation, "name" | "summary" | "plan" | "compute">),
    params: definition.params,
    merge: (a: Piece[], b: Piece[]) => [...a, ...b],
    zero: () => [],
    codec: {
      contentType: "application/json",
      encode: (pieces: Piece[]) => {
        const files = pieces.flatMap((piece) => piece.files ?? unsaved());
        return new TextEncoder().encode(JSON.stringify(files));
      },
      decode: (bytes): Piece[] => [{ files: listed.parse(JSON.parse(new TextDecoder().decode(bytes))) }],
    },
    finish: (pieces: Piece[]): ResultBytes => ({
      ...{ contentType, extension, body: new TextEncoder().encode(head) },
      joins: pieces.flatMap((piece) => piece.files ?? unsaved()),
    }),
  });
}

const listed = fileListSchema.shape.files;

function unsaved(): never {
  throw new Error("bytes of a chunk are not saved");
}

/** A file is closed before it has more: a thread holds it, and then the process that uploads it. */
const fileBytesMax = 16 * 1024 * 1024;

/** Turns what the chunks of a pack give, in order, into partials; undefined where `compute` gives partials itself. */
export function gathering({ output }: AnyCalculation, files: Files) {
  if (output === undefined) return undefined;
  let open: Piece[] = [];
  let held: Uint8Array[] = [];
  let bytes = 0;
  const save = (body: Uint8Array): Promise<SavedFile> => files.save(body, output.extension);

  /** Saves what is held. Every partial is whole after this, and none before. */
  async function end(): Promise<void> {
    const [first, ...others] = open;
    if (first !== undefined) first.files = bytes === 0 ? [] : [await save(Buffer.concat(held))];
    for (const other of others) other.files = [];
    [open, held, bytes] = [[], [], 0];
  }

  return {
    end,
    /** Throws `CalculationError` for what is neither bytes nor text. */
    async add(made: unknown): Promise<readonly Piece[]> {
      const given = bytesOf(made);
      if (bytes + given.length > fileBytesMax) await end();
      const piece: Piece = {};
      if (given.length <= fileBytesMax) {
        open.push(piece);
        held.push(given);
        bytes += given.length;
        return [piece];
      }
      const saved: SavedFile[] = [];
      for (let at = 0; at < given.length; at += fileBytesMax)
        saved.push(await save(given.slice(at, at + fileBytesMax)));
      piece.files = saved;
      return [piece];
    },
  };
}

/** A copy: the code may fill the same memory for its next chunk. */
function bytesOf(made: unknown): Uint8Array {
  if (typeof made === "string") return new TextEncoder().encode(made);
  if (types.isUint8Array(made)) return new Uint8Array(made);
  const what = made === null ? "null" : Array.isArray(made) ? "a list" : typeof made;
  throw new CalculationError("not-bytes", `compute gave ${what}; give a Uint8Array or text`);
}

/** For runs without storage: keeps what such a calculation saves, so that its result can be had whole. */
export function keepingSaved({ output }: AnyCalculation, files: Files) {
  const kept = new Map<string, Uint8Array>();
  let keptBytes = 0;
  const save: Files["save"] = async (body, extension) => {
    const copy = new Uint8Array(body);
    const file = await files.save(body, extension);
    if (!kept.has(file.name)) keptBytes += copy.length;
    kept.set(file.name, copy);
    return file;
  };
  return {
    files: output === undefined ? files : { ...files, save },
    keptBytes: () => keptBytes,
    /** Throws `CalculationError` for a file that was not saved here. */
    whole({ joins, ...made }: ResultBytes): ResultBytes {
      if (joins === undefined) return made;
      const bodies = joins.map(({ name }) => {
        const body = kept.get(name);
        if (body === undefined) throw new CalculationError("no-files", `the file ${name} is not there`);
        return body;
      });
      return { ...made, body: new Uint8Array(Buffer.concat([made.body, ...bodies])) };
    },
  };
}
