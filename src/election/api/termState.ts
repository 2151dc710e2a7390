import { CorruptDataError, LeasefoldError, StorageError } from "../../engine/model/errors.ts";
import type { Conflict, Created, Replaced } from "../../engine/storage/ports.ts";
import { oneAtATime } from "../../engine/storage/system.ts";
import { type Leadership, LostLeadership } from "../hold/leadership.ts";
import type { ElectionPorts } from "./electionPorts.ts";

/**
 * What the leaders of one election hand on to each other, in one blob. Opening it takes it over: the blob is rewritten
 * with the new term before its content is used, so that every write of an older term, sent or still to come, meets a
 * changed ETag and is refused by storage. No clock is trusted for that.
 *
 * Not promised: that it survives an operator who deletes the blob, or anything about effects elsewhere.
 */
export interface TermState {
  /** As last read or written by this term. Empty where nothing was ever written. */
  readonly body: Uint8Array;
  text(): string;
  /** Replaces the content. Throws `LostLeadership` when the term is over; then nothing was written by it. */
  write(body: Uint8Array | string): Promise<void>;
}

/** The state has seen a term at or above this one: the leader record was lost or rolled back, or a successor is there. */
export class TermOvertaken extends LeasefoldError {
  readonly seenTerm: number;
  constructor(term: number, seenTerm: number) {
    super("term-overtaken", `The state of this election has seen term ${seenTerm}; this is term ${term}.`, {
      retry: "later",
      details: { term, seenTerm },
    });
    this.seenTerm = seenTerm;
  }
}

type StatePorts = Pick<ElectionPorts, "blobs" | "container" | "clock">;
const retryMs = 1_000;

export async function openTermState(
  { blobs, container, clock }: StatePorts,
  blob: string,
  leadership: Pick<Leadership, "term" | "termid" | "lost" | "assertLeading">,
): Promise<TermState> {
  const { term, termid, lost } = leadership;
  let body: Uint8Array = new Uint8Array();
  let etag = "";
  let sequence = 0;

  /** A read, or a write of the same bytes, is retried while the term lasts and no definite reply came. */
  const definite = async <T>(call: () => Promise<T>): Promise<T> => {
    for (;;) {
      leadership.assertLeading();
      try {
        return await call();
      } catch (error) {
        leadership.assertLeading();
        if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
      }
      await clock.sleep(retryMs, lost);
    }
  };
  const read = async () => {
    const seen = await definite(() => blobs.read(container, blob, { signal: lost }));
    return seen.kind === "missing" ? undefined : { ...seen, mark: markOf(seen.properties.metadata) };
  };
  /** Replaces the version `over`, or creates the blob. A conflict may come from an earlier attempt of this write. */
  const store = async (next: Uint8Array, over: string | undefined): Promise<boolean> => {
    sequence += 1;
    const metadata = { v: "1", term: String(term), termid, sequence: String(sequence) };
    const write = { metadata, signal: lost };
    const outcome = await definite<Created | Replaced | Conflict>(() =>
      over === undefined
        ? blobs.create(container, blob, next, write)
        : blobs.replace(container, blob, next, { ...write, ifMatch: over }),
    );
    if (outcome.kind === "created" || outcome.kind === "replaced") etag = outcome.etag;
    else {
      const seen = await read();
      if (seen === undefined || seen.mark.termid !== termid || seen.mark.sequence !== sequence) return false;
      etag = seen.properties.etag;
    }
    body = next;
    return true;
  };

  for (;;) {
    const seen = await read();
    if (seen !== undefined && seen.mark.termid === termid) {
      ({ body } = seen);
      ({ etag } = seen.properties);
      ({ sequence } = seen.mark);
      break;
    }
    if (seen !== undefined && seen.mark.term >= term) throw new TermOvertaken(term, seen.mark.term);
    if (await store(seen?.body ?? new Uint8Array(), seen?.properties.etag)) break;
  }

  const inTurn = oneAtATime();
  const replace = async (next: Uint8Array): Promise<void> => {
    if (!(await store(next, etag))) throw new LostLeadership(term, "lost");
  };
  return {
    get body() {
      return body;
    },
    text: () => new TextDecoder().decode(body),
    write(next) {
      const bytes = typeof next === "string" ? new TextEncoder().encode(next) : next.slice();
      // One at a time, in the order of the calls: each is conditional on the ETag of the one before.
      return inTurn(() => replace(bytes));
    },
  };
}

function markOf(metadata: Readonly<Record<string, string>>) {
  const term = Number(metadata["term"]);
  const sequence = Number(metadata["sequence"]);
  if (metadata["v"] === "1" && Number.isSafeInteger(term) && Number.isSafeInteger(sequence)) {
    return { term, termid: metadata["termid"] ?? "", sequence };
  }
  throw new CorruptDataError("term-state", "The state blob of this election was not written by Leasefold.");
}
