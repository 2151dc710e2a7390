import { decodeRecord, type LeaderRecord } from "../../src/election/record/record.ts";

/** The record in the metadata of a leader blob. Throws where there is none. */
export function recordIn(metadata: Readonly<Record<string, string>>): LeaderRecord {
  const decoded = decodeRecord(metadata);
  if (decoded.kind !== "record") throw new Error(`the metadata holds no record: ${decoded.kind}`);
  return decoded.record;
}
