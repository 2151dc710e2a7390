import { hash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import type { ZodType } from "zod";
import {
  type Calculation,
  defineCalculation,
  type JsonValue,
  type Plan,
  type Result,
  type ResultBytes,
} from "../../engine/calculation/contract.ts";
import { userEnv } from "../../engine/model/userEnv.ts";
import { type Call, commandProcess } from "./commandProcess.ts";
import type { Message } from "./messages.ts";

/** A calculation in any language: a program that answers requests on its standard input and output. */
export interface CommandDefinition<Params> {
  readonly name: string;
  readonly summary: string;
  readonly params: ZodType<Params>;
  /** The program, found by `PATH`, and its arguments, such as `["python3", "pi.py"]`. No shell reads them. */
  readonly command: readonly [string, ...string[]];
  /** Where it runs and where its files are: `import.meta.dirname`. */
  readonly folder: string;
  /** The program's files, relative to `folder`. Another content of one is another version of the calculation. */
  readonly files: readonly string[];
  /** What partials are; `json` by default. */
  readonly parts?: "json" | "bytes";
  /** Added to what the program finds in its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** As in `Calculation`. */
  readonly version?: string;
  /** As in `Calculation`. */
  readonly byInput?: boolean;
  /** As in `Calculation`; the program's greeting says how many of these it takes at the same time. */
  readonly concurrency?: number;
}

type Part = JsonValue | Uint8Array;

/** Where the module for Python is: beside the bundle, or in a clone. */
const pythonFolders = ["python", "../../../python"].map((name) => join(import.meta.dirname, name));

/** One thread of numerical libraries, as each worker thread has a process; and sets of texts in the same order each time. */
const sameEverywhere = { OMP_NUM_THREADS: "1", PYTHONHASHSEED: "0", PYTHONDONTWRITEBYTECODE: "1" };

/**
 * A calculation whose functions a program computes: one process for each worker thread, which answers one request after the
 * other, or several at the same time. The page CALCULATIONS describes what they say. Throws if a file is missing.
 */
export function defineCommandCalculation<Params>(
  definition: CommandDefinition<Params>,
): Calculation<Params, JsonValue, Part, Result> {
  const {
    name,
    summary,
    params: schema,
    command,
    folder,
    files,
    parts = "json",
    version,
    byInput,
    concurrency,
  } = definition;
  const codeFiles = Object.fromEntries(files.map((file) => [file, join(folder, file)]));
  const hashes = (): string =>
    Object.values(codeFiles)
      .map((path) => hash("sha256", readFileSync(path)))
      .join();
  const loaded = hashes();
  const unchanged = (): void => {
    if (hashes() !== loaded)
      throw new Error(`${files.join(" or ")} has changed since this process loaded it; start it again`);
  };
  const python = pythonFolders.find((path) => existsSync(path)) ?? "";
  const path = [definition.env?.["PYTHONPATH"], python].filter(Boolean).join(delimiter);
  const env = { ...userEnv(process.env), ...sameEverywhere, ...definition.env, PYTHONPATH: path };
  const program = commandProcess({ command, folder, env, unchanged });

  const partOf = (call: string, { said, frames }: Message): Part => {
    const [bytes] = frames;
    const wrong =
      (parts === "bytes") !== (bytes !== undefined) || (bytes === undefined && !("value" in said));
    if (wrong)
      throw new Error(`${call} gave ${bytes === undefined ? "JSON" : "bytes"} where partials are ${parts}`);
    return bytes ?? (said["value"] as JsonValue);
  };
  const partFrom = async (call: Call): Promise<Part> => partOf(call.name, await program.call(call));
  const carried = (...given: readonly Part[]) =>
    parts === "bytes" ? { said: {}, frames: given as Uint8Array[] } : { said: { parts: given } };

  return defineCalculation<Params, JsonValue, Part, Result>({
    ...{ name, summary, params: schema, codeFiles },
    ...(version === undefined ? {} : { version }),
    ...(byInput === undefined ? {} : { byInput }),
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(parts === "bytes" ? { codec: asItIs } : {}),
    async plan(params, { files: blobs }) {
      const { said } = await program.call({ name: "plan", said: { params }, files: blobs });
      return said["value"] as Plan<JsonValue>;
    },
    compute: ({ index, count, input, params, files: blobs }) =>
      partFrom({ name: "compute", said: { params, index, count, input }, files: blobs, chunk: index }),
    merge(a, b, params) {
      const { said, ...frames } = carried(a, b);
      return partFrom({ name: "merge", said: { params, ...said }, ...frames });
    },
    // The engine awaits it as the others; code that calls it directly has no process.
    zero: (params) => partFrom({ name: "zero", said: { params } }) as unknown as Part,
    async finish(part, { params, folded, count }) {
      // It greets with the names of its functions before the first call.
      if (!program.has("finish")) await program.call({ name: "zero", said: { params } });
      if (!program.has("finish")) return part as Result;
      const { said, ...frames } = carried(part);
      const made = await program.call({
        name: "finish",
        said: { params, folded, count, ...said },
        ...frames,
      });
      const [body] = made.frames;
      if (body === undefined) return made.said["value"] as Result;
      return { ...Object(made.said["result"]), body } as ResultBytes;
    },
    end: () => program.end(),
  });
}

const asItIs = {
  contentType: "application/octet-stream",
  encode: (part: Part): Uint8Array => part as Uint8Array,
  decode: (bytes: Uint8Array): Part => bytes,
};
