import * as z from "zod";
import { joined, rangeText } from "../model/packs.ts";
import { type Failure, rangeSchema } from "../model/run.ts";
import { count, list, text } from "./viewSchemas.ts";

/** A failure record and the work that it is of; `pack` if that is a pack. */
interface Failed extends Pick<Failure, "code" | "message" | "chunks" | "attempts"> {
  readonly work: string;
  readonly pack?: number;
}

export const groupSchema = z
  .object({
    code: text,
    message: text.describe(
      "The error with `N` for each number and `ID` for each random id, but in a place in code and in the one file that all name; a long one is cut.",
    ),
    sample: text.describe("The first of these errors as it was."),
    packs: list(count).describe("Ascending."),
    chunks: list(rangeSchema).describe(
      "The chunks that failed where that is known, and else those of these packs; neighbors joined.",
    ),
    tasks: list(text).describe("Failed work that is no pack: `plan`, `node/1/00003` or `finish`."),
    attempts: count,
  })
  .describe("Failures with the same error but for the numbers in it.")
  .meta({ id: "FailureGroup" });
export type FailureGroup = z.infer<typeof groupSchema>;

const messageCharactersMax = 300;

/**
 * Pure: groups failures by code and normalized error, the largest group first. Work that failed in several sends or
 * generations is in a group once, with all its attempts.
 */
export function groupFailures(failures: readonly Failed[]): readonly FailureGroup[] {
  const groups = Map.groupBy(failures, ({ code, message }) =>
    JSON.stringify([code, normalized(message, false)]),
  );
  return [...groups.values()]
    .map(groupOf)
    .sort((a, b) => sizeOf(b) - sizeOf(a) || (a.message < b.message ? -1 : 1));
}

const sizeOf = ({ packs, tasks }: FailureGroup): number => packs.length + tasks.length;

function groupOf(failures: readonly Failed[]): FailureGroup {
  const { code = "", message = "" } = failures[0] ?? {};
  const isOfOneFile = new Set(failures.map((one) => normalized(one.message))).size === 1;
  const packs = [...new Set(failures.flatMap(({ pack }) => pack ?? []))].sort((a, b) => a - b);
  // The same chunk may have failed in several sends.
  const chunks = new Map(
    failures.flatMap(({ chunks }) => (chunks ? [[rangeText(chunks), chunks] as const] : [])),
  );
  return {
    code,
    message: normalized(message, isOfOneFile),
    sample: message,
    packs,
    chunks: joined([...chunks.values()].sort((a, b) => a.from - b.from)),
    tasks: [...new Set(failures.flatMap(({ work, pack }) => (pack === undefined ? [work] : [])))],
    attempts: failures.reduce((sum, { attempts }) => sum + attempts, 0),
  };
}

const uuid = /\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi;
/** Hexadecimal of a length that only ids and hashes have, with a digit in it. */
const longHex = /\b(?:0x)?(?=[a-f]*\d)[0-9a-f]{12,}\b/gi;
const number = /[-+]?(?:\d[\d_,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?/gi;
/** `s17.csv`, `data/2026/s17.csv.gz`, `ols.ts:20`. */
const file = /([^\s()[\]{}"'`“”‘’,;:|<>]+\.[a-z][a-z\d]{0,7}(?::\d+){0,2})(?!\.?\w)/gi;
const placeInCode = /\.[cm]?[jt]sx?:\d+(?::\d+)?$/i;

/** An error without what differs from chunk to chunk. A place in code stays, and a file that all of the group name. */
export function normalized(message: string, keepFiles = true): string {
  const text = message
    .slice(0, 10 * messageCharactersMax)
    // Every other piece is a file.
    .split(file)
    .map((piece, at) => (at % 2 === 1 && (keepFiles || placeInCode.test(piece)) ? piece : unnumbered(piece)))
    .join("")
    .replace(/\s+/g, " ")
    .trim();
  return text.length <= messageCharactersMax
    ? text
    : `${text.slice(0, messageCharactersMax - 1).toWellFormed()}…`;
}

const unnumbered = (text: string): string =>
  text.replace(uuid, "ID").replace(longHex, "ID").replace(number, "N");
