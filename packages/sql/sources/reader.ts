import type { Column } from "../split/splitSteps.ts";
import type { CsvHead } from "./csvHead.ts";
import type { FileKind } from "./fileFormat.ts";
import type { ReadOptions } from "./readOptions.ts";

/**
 * How every file of a source is read. It is found once, while planning, and is part of each chunk's input: types that each
 * chunk found on its own would differ.
 */
export interface Reader {
  readonly kind: FileKind;
  readonly columns: readonly Column[];
  readonly options: ReadOptions;
  /** Columns whose types the user said. */
  readonly told: readonly string[];
  /**
   * Columns without a value in the first files, and fields, elements and values of JSON without one, as `"column"."field"[]`:
   * nothing is known of their types.
   */
  readonly valueless: readonly string[];
  /** Fields of JSON objects that count, in lower case; absent: all. */
  readonly fields?: readonly string[] | undefined;
  /** How the CSV files begin that were read while planning. */
  readonly heads: readonly CsvHead[];
  /** A character with which lines of CSV begin that may be comments. */
  readonly comment?: string | undefined;
}
