import * as z from "zod";
import { count, decodeValue, idSchema, numberText, parseJson, versioned } from "./decode.ts";
import { limits } from "./limits.ts";
import type { Range } from "./packs.ts";
import { parseWorkName, type Work, workName } from "./runBlobs.ts";
import { versions, withVersion } from "./versions.ts";

/**
 * The sign of life of one process: a blob in the coordination container that exists while the process has work which lasts.
 * Everything is in its metadata, so that one list tells what all instances compute. Ages count back from the blob's last write,
 * whose time is storage's.
 */
export interface Sign {
  /** Worker threads of the process. */
  readonly threads: number;
  /** Within this time, in ms, the process writes the sign again. */
  readonly everyMs: number;
  readonly version: string;
  /** Identities of the user's own calculations. */
  readonly codes: readonly string[];
  /** Resident memory, in MB. */
  readonly memoryMb: number;
  readonly works: readonly SignedWork[];
  /** Set by a supervisor that saw the process end: by which signal, with which exit code, or why. */
  readonly ended?: string | undefined;
}

/** A piece of work that a process has taken and not ended yet. */
export interface SignedWork {
  readonly run: string;
  readonly uid: string;
  readonly work: Work;
  readonly generation: number;
  readonly send: number;
  /** How long ago it was taken, or begun, when the sign was written. */
  readonly ageMs: number;
  /** A thread has taken it; else it waits for one. */
  readonly begun: boolean;
  /** Nothing else runs in the process meanwhile. */
  readonly alone: boolean;
  /** Of a pack. */
  readonly chunks?: Range | undefined;
  /** The chunk that is computed. */
  readonly chunk?: number | undefined;
}

const list = z
  .string()
  .default("")
  .transform((text) => text.split(",").filter((one) => one !== ""));

/** A row for each piece: run, uid, work, generation, send, age, flags, the chunk that is computed; of a pack its chunks. */
const rowsSchema = z.array(
  z.tuple([
    idSchema,
    idSchema,
    z.string(),
    count,
    count,
    count,
    count,
    count.nullable(),
    count.optional(),
    count.optional(),
  ]),
);

const signSchema = z.object({
  threads: numberText,
  every: numberText,
  version: z.string().default(""),
  codes: list,
  memory: numberText,
  work: z.string().transform((text, context) => {
    try {
      return rowsSchema.parse(parseJson(text, "the work"));
    } catch {
      context.addIssue("not a list of work");
      return z.NEVER;
    }
  }),
  ended: z.string().optional(),
});
versioned("sign", signSchema);

const flags = { begun: 1, alone: 2 };

/** Characters of work and identities: metadata has 8 KB (`inlineBytesMax`). */
const charactersMax = { work: 6_000, codes: 1_000, ended: 200 };

/** What does not fit is left out from the end: the leader takes it for work without a sign. */
export function encodeSign({
  threads,
  everyMs,
  version,
  codes,
  memoryMb,
  works,
  ended,
}: Sign): Record<string, string> {
  const rows: string[] = [];
  let left = charactersMax.work;
  for (const { run, uid, work, generation, send, ageMs, begun, alone, chunk, chunks } of works) {
    const bits = (begun ? flags.begun : 0) + (alone ? flags.alone : 0);
    const row = [run, uid, workName(work), generation, send, Math.round(ageMs), bits, chunk ?? null];
    const text = JSON.stringify(chunks === undefined ? row : [...row, chunks.from, chunks.to]);
    left -= text.length + 1;
    if (left < 0) break;
    rows.push(text);
  }
  const identities = codes.join(",");
  return {
    v: String(versions.sign),
    threads: String(threads),
    every: String(everyMs),
    memory: String(Math.round(memoryMb)),
    work: `[${rows.join(",")}]`,
    // Not every client accepts metadata with an empty value.
    ...(version === "" ? {} : { version }),
    ...(identities === "" || identities.length > charactersMax.codes ? {} : { codes: identities }),
    // Headers carry plain characters only.
    ...(ended === undefined ? {} : { ended: ended.replace(/[^ -~]/g, "?").slice(0, charactersMax.ended) }),
  };
}

/** Throws `OtherVersionError`, or `CorruptDataError` for metadata that is not a sign's. */
export function decodeSign(metadata: Readonly<Record<string, string>>, what: string): Sign {
  const { every, memory, work, ...rest } = decodeValue(
    signSchema,
    withVersion(metadata),
    `the sign of ${what}`,
  );
  const works = work.flatMap(([run, uid, name, generation, send, ageMs, bits, chunk, from, to]) => {
    const known = parseWorkName(name);
    if (known === undefined) return [];
    const begun = (bits & flags.begun) !== 0;
    const alone = (bits & flags.alone) !== 0;
    const chunks = from === undefined || to === undefined ? undefined : { from, to };
    const told = { run, uid, work: known, generation, send, ageMs, begun, alone };
    return [{ ...told, chunks, chunk: chunk ?? undefined }];
  });
  return { ...rest, everyMs: every, memoryMb: memory, works };
}

/** A sign holds for so many of its own intervals: a busy process may write one late. */
const signHoldsTimes = 3;

/** Whether a sign tells of a process that is alive at `nowMs`, storage's time. */
export const isLive = ({ everyMs, ended }: Sign, writtenMs: number, nowMs: number): boolean =>
  ended === undefined && nowMs - writtenMs <= signHoldsTimes * Math.min(everyMs, limits.signMsMax);
