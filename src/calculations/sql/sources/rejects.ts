import { readFile, writeFile } from "node:fs/promises";
import { CalculationError } from "../../../model/errors.ts";
import { isRecord } from "../../../model/json.ts";
import type { Session } from "../duck/session.ts";
import type { LocalFile } from "./localFile.ts";
import { sourceLimits } from "./sourceLimits.ts";

/** Records that were left out because they do not have the columns and types of the source. */
export interface Rejects {
  readonly count: number;
  /** The first of them, in order. */
  readonly first: readonly Reject[];
}

interface Reject {
  readonly file: string;
  /** Where the record begins; in a compressed file, in its content. */
  readonly byte: number;
  readonly why: string;
}

export const noRejects: Rejects = { count: 0, first: [] };

export const joinRejects = (a: Rejects, b: Rejects): Rejects => ({
  count: a.count + b.count,
  first: [...a.first, ...b.first].slice(0, sourceLimits.rejectsShown),
});

/** Throws `CalculationError` naming the first rejected record if there are more than the run allows. */
export function refuseRejects({ count, first: [first] }: Rejects, max: number): void {
  if (count <= max || first === undefined) return;
  const others = count === 1 ? "" : ` (and ${count - 1} more)`;
  throw new CalculationError(
    "bad-record",
    `${first.file}: the record at byte ${first.byte}: ${first.why}${others}; ` +
      `with --rejects-max ${count} or more they are left out and counted`,
  );
}

/** The records of CSV files that DuckDB has rejected in this session since the last call. */
export async function takeRejects(local: readonly LocalFile[], session: Session): Promise<Rejects> {
  const [row] = await session.rows(
    "select count(*) as n from (select distinct scan_id, file_id, line from reject_errors)",
  );
  const count = Number(row?.["n"] ?? 0);
  if (count === 0) return noRejects;
  const rows = await session.rows(
    `select file_path, line_byte_position as byte, first(case error_type when 'CAST' then 'the value of column "' || column_name || '" is not of its type'
         else lower(error_type) || ': ' || error_message end order by column_idx) as why
     from reject_errors join reject_scans using (scan_id, file_id) group by scan_id, file_id, file_path, line_byte_position order by scan_id, file_id, byte
     limit ${sourceLimits.rejectsShown}`,
  );
  await session.run("delete from reject_errors");
  await session.run("delete from reject_scans");
  const order = new Map(local.map((one, index) => [one.path, { ...one, index }]));
  const first = rows.flatMap((one) => {
    const origin = order.get(String(one["file_path"]));
    if (origin === undefined) return [];
    const byte = origin.from + Number(one["byte"]) - 1;
    return [{ index: origin.index, file: origin.file.path, byte, why: String(one["why"]) }];
  });
  first.sort((a, b) => a.index - b.index || a.byte - b.byte);
  return { count, first: first.map(({ index: _, ...reject }) => reject) };
}

/** What a result says of the records that it leaves out; empty if there are none. */
export const rejectNotes = ({ count, first }: Rejects): string[] =>
  count === 0
    ? []
    : [
        `${count} record${count === 1 ? " is" : "s are"} left out because they do not fit the columns`,
        ...first.map(({ file, byte, why }) => `left out: ${file}, byte ${byte}: ${why}`.slice(0, 500)),
      ];

/**
 * Takes the lines of local NDJSON files out that are no JSON objects. DuckDB fails at the first of them and does not say how
 * many there are, so this reads the files a second time, after such a failure.
 */
export async function takeBadLines(local: readonly LocalFile[]): Promise<Rejects> {
  let found = noRejects;
  for (const { path, file, from } of local) {
    const bytes = await readFile(path);
    const kept: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = bytes.indexOf(0x0a, at) + 1 || bytes.length;
      const line = bytes.subarray(at, end);
      if (isObject(line.toString())) kept.push(line);
      else {
        const reject = { file: file.path, byte: from + at, why: "the line is not a JSON object" };
        found = joinRejects(found, { count: 1, first: [reject] });
      }
      at = end;
    }
    await writeFile(path, Buffer.concat(kept));
  }
  return found;
}

function isObject(line: string): boolean {
  if (line.trim() === "") return true;
  try {
    return isRecord(JSON.parse(line));
  } catch {
    return false;
  }
}
