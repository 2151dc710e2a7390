import * as z from "zod";
import { count, decodeValue, idSchema, numberText, parseJson, versioned } from "./decode.ts";
import { limits } from "./limits.ts";
import type { Range } from "./packs.ts";
import { parseWorkName, type Work, workName } from "./runBlobs.ts";
import { versions, withVersion } from "./versions.ts";

/**
 * The heartbeat of one process: a blob in the coordination container that exists while the process has work which lasts.
 * Everything is in its metadata, so that one list tells what all instances compute. Ages count back from the blob's last write,
 * whose time is storage's.
 */
export interface WorkerHeartbeat {
  /** Worker threads of the process. */
  readonly threads: number;
  /** Within this time, in ms, the process writes the heartbeat again. */
  readonly everyMs: number;
  readonly version: string;
  /** Identities of the user's own calculations. */
  readonly codes: readonly string[];
  /** Resident memory, in MB. */
  readonly memoryMb: number;
  readonly works: readonly HeartbeatWork[];
  /** Set by a supervisor that saw the process end: by which signal, with which exit code, or why. */
  readonly ended?: string | undefined;
}

/** A piece of work that a process has taken and not ended yet. */
export interface HeartbeatWork {
  readonly run: string;
  readonly uid: string;
  readonly work: Work;
  readonly generation: number;
  readonly send: number;
  /** How long ago it was taken, or begun, when the heartbeat was written. */
  readonly ageMs: number;
  /** A thread has taken it; else it waits for one. */
  readonly begun: boolean;
  /** Nothing else runs in the process meanwhile. */
  readonly isolated: boolean;
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

const heartbeatSchema = z.object({
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
versioned("heartbeat", heartbeatSchema);

const flags = { begun: 1, isolated: 2 };

/** Characters of work and identities: metadata has 8 KB (`inlineBytesMax`). */
const charactersMax = { work: 6_000, codes: 1_000, ended: 200 };

/** What does not fit is left out from the end: the leader takes it for work without a heartbeat. */
export function encodeHeartbeat({
  threads,
  everyMs,
  version,
  codes,
  memoryMb,
  works,
  ended,
}: WorkerHeartbeat): Record<string, string> {
  const rows: string[] = [];
  let left = charactersMax.work;
  for (const { run, uid, work, generation, send, ageMs, begun, isolated, chunk, chunks } of works) {
    const bits = (begun ? flags.begun : 0) + (isolated ? flags.isolated : 0);
    const row = [run, uid, workName(work), generation, send, Math.round(ageMs), bits, chunk ?? null];
    const text = JSON.stringify(chunks === undefined ? row : [...row, chunks.from, chunks.to]);
    left -= text.length + 1;
    if (left < 0) break;
    rows.push(text);
  }
  const identities = codes.join(",");
  return {
    v: String(versions.heartbeat),
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

/** Throws `OtherVersionError`, or `CorruptDataError` for metadata that is not a heartbeat's. */
export function decodeHeartbeat(metadata: Readonly<Record<string, string>>, what: string): WorkerHeartbeat {
  const { every, memory, work, ...rest } = decodeValue(
    heartbeatSchema,
    withVersion(metadata),
    `the heartbeat of ${what}`,
  );
  const works = work.flatMap(([run, uid, name, generation, send, ageMs, bits, chunk, from, to]) => {
    const known = parseWorkName(name);
    if (known === undefined) return [];
    const begun = (bits & flags.begun) !== 0;
    const isolated = (bits & flags.isolated) !== 0;
    const chunks = from === undefined || to === undefined ? undefined : { from, to };
    const told = { run, uid, work: known, generation, send, ageMs, begun, isolated };
    return [{ ...told, chunks, chunk: chunk ?? undefined }];
  });
  return { ...rest, everyMs: every, memoryMb: memory, works };
}

/** A heartbeat holds for so many of its own intervals: a busy process may write one late. */
const heartbeatHoldsTimes = 3;

/** Whether a heartbeat tells of a process that is alive at `nowMs`, storage's time. */
export const isLive = ({ everyMs, ended }: WorkerHeartbeat, writtenMs: number, nowMs: number): boolean =>
  ended === undefined && nowMs - writtenMs <= heartbeatHoldsTimes * Math.min(everyMs, limits.heartbeatMsMax);
