import * as z from "zod";
import { costSchema } from "./cost.ts";
import { count, decodeJson, idSchema, ms, positive, versioned } from "./decode.ts";
import { actorSchema, tagsSchema } from "./labels.ts";
import { versions } from "./versions.ts";

/**
 * `_closed/{time}.{id}`: what a list shows of a run that has ended, all in the metadata of the blob, so that one list
 * call reads up to 5,000 of them; its content is the completion event (`endedRun.ts`). The leader writes it before it removes the marker. It is a summary: the
 * state and the manifest decide, and a leader that was deposed for minutes may leave one of a run that has been deleted since.
 */
/** `failed` includes those given up. */
const counts = z.object({
  ...{ total: count, done: count, failed: count, givenUp: count.optional() },
});

const closedRunSchema = z.object({
  v: z.literal(versions.summary),
  run: idSchema,
  uid: idSchema,
  generation: positive,
  phase: z.enum(["complete", "failed", "cancelled"]),
  /** Empty if the spec does not decode. */
  calculation: z.string(),
  /** Absent if they are long. */
  params: z.unknown().optional(),
  code: z.string().optional(),
  /** Absent if the run was never planned. */
  packs: counts.optional(),
  chunks: counts.optional(),
  finishedMs: ms,
  /** When the newest retry began. */
  retriedMs: ms.optional(),
  /** What the generations before it took. */
  earlierMs: ms.optional(),
  /** Of the result. */
  sha256: z.string().optional(),
  cost: costSchema,
  tags: tagsSchema.optional(),
  /** Who submitted it. */
  by: actorSchema.optional(),
  /** The message is cut. */
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
versioned("summary", closedRunSchema);
export type ClosedRun = Omit<z.infer<typeof closedRunSchema>, "v">;

/** Metadata has at most 8 KB, names included. */
const metadataBytesMax = 8_000;
/** Parameters whose JSON has more characters are in no summary: they do not fit in base64. */
export const closedParamsMax = (metadataBytesMax * 3) / 4;
/** Longer texts are cut: names of calculations are shorter, and of a message a list shows the beginning. */
const [nameMax, messageMax] = [100, 500];

/** Always fits, whatever the documents of the run hold: a run must not stay open because of its summary. */
export function encodeClosedRun(run: ClosedRun): Record<string, string> {
  const { error } = run;
  const cut = {
    ...run,
    calculation: run.calculation.slice(0, nameMax),
    error: error && { ...error, message: error.message.slice(0, messageMax) },
  };
  const least = { ...cut, params: undefined, error: undefined, code: undefined };
  const encoded = [cut, { ...cut, params: undefined }, least].map((one) =>
    Buffer.from(JSON.stringify({ v: versions.summary, ...one })).toString("base64url"),
  );
  return { run: encoded.find(({ length }) => length <= metadataBytesMax) ?? (encoded.at(-1) as string) };
}

/** Throws `OtherVersionError`, or `CorruptDataError` for metadata of something else. */
export function decodeClosedRun(metadata: Readonly<Record<string, string>>, what: string): ClosedRun {
  const text = Buffer.from(metadata["run"] ?? "", "base64url");
  const { v: _version, ...run } = decodeJson(closedRunSchema, text, what);
  return run;
}

export const closedBlobs = "_closed/";

/** Digits of a time in ms until the year 2286. */
const timeMax = 10 ** 13 - 1;

/** The newest submit is the first in a list. `submittedMs`: when the spec was written, by storage's clock. */
export const closedBlob = (id: string, submittedMs: number): string =>
  `${closedBlobs}${String(timeMax - submittedMs).padStart(13, "0")}.${id}`;

/** Id and time of submit in a name; undefined for any other name. */
export function parseClosed(name: string): { readonly id: string; readonly submittedMs: number } | undefined {
  const match = /^_closed\/(\d{13})\.([^/.]+)$/.exec(name);
  return match === null ? undefined : { id: match[2] as string, submittedMs: timeMax - Number(match[1]) };
}
