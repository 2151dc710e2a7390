import type { MessagePort } from "node:worker_threads";
import type { ResultBytes } from "../../calculations/contract.ts";
import type { Finding, LawName } from "../../calculations/laws/findings.ts";
import type { ParamRow } from "../../calculations/params.ts";

/** What a check's thread is started with. */
export interface CheckThreadData {
  /** The user's files, absolute. */
  readonly files: readonly string[];
  /** A calculation by its name, or else the one of the last file. */
  readonly name: string | undefined;
  /** Three whole numbers: calls of user code so far, and which and of what chunk the last one is. */
  readonly calls: Int32Array;
  /** Where the thread asks for files. */
  readonly port: MessagePort;
  readonly heapBytesMax: number;
  readonly packLimitMs: number;
}

/** To the thread, once it told the parameters. */
export interface CheckOrder {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly chunks?: number;
  readonly runs?: number;
  readonly seed: number;
}

export interface LoadedCalculation {
  readonly name: string;
  readonly params: readonly ParamRow[];
}

/** The laws were tried. `result` is that of the first `chunks` of `count` chunks; absent where a law is broken. */
export interface LawsTried {
  readonly count: number;
  readonly chunks: number;
  readonly chunkMs: number | undefined;
  /** As the schema gave them, through JSON. */
  readonly params: unknown;
  readonly result: ResultBytes | undefined;
}

export type FromCheckThread =
  | ({ readonly say: "loaded" } & LoadedCalculation)
  | { readonly say: "trying"; readonly law: LawName }
  | { readonly say: "found"; readonly finding: Finding }
  | ({ readonly say: "tried" } & LawsTried)
  /** The kind of an error does not survive the way; `input` and `setting` are the user's to mend. */
  | {
      readonly say: "failed";
      readonly kind: "input" | "setting" | "bug";
      readonly code: string;
      readonly message: string;
    };
