import { StorageError } from "../model/errors.ts";
import { type WorkMessage, workOf } from "../model/message.ts";
import type { Names } from "../model/names.ts";
import { encodePrinted, type PrintedLine, printedLimits } from "../model/printed.ts";
import { runBlobs } from "../model/runBlobs.ts";
import type { BlobStore } from "../storage/ports.ts";
import { setLatest } from "./setLatest.ts";

/** Keeps what user code prints in one attempt; nothing where it prints nothing. */
export type KeepPrinted = (
  message: WorkMessage,
  tag: string,
) => {
  add(line: PrintedLine | undefined, more: number): void;
  /** Writes what there is. What storage does not take is lost: a line that somebody wants to read fails no work. */
  end(): Promise<void>;
};

const runsKept = 100;

export function keepPrinted(
  { storage, names }: { readonly storage: { readonly blobs: BlobStore }; readonly names: Names },
  instance: string,
): KeepPrinted {
  /** Attempts of the latest runs whose lines were kept here. */
  const kept = new Map<string, number>();
  return (message, tag) => {
    const { run, uid, gen: generation } = message;
    const work = workOf(message);
    const lines: PrintedLine[] = [];
    let more = 0;
    return {
      add(line, others) {
        if (line !== undefined) lines.push(line);
        more += others;
      },
      async end() {
        const before = kept.get(uid) ?? 0;
        if (lines.length === 0 || work === undefined || before >= printedLimits.attempts) return;
        setLatest(kept, uid, before + 1, runsKept);
        const name = `${runBlobs(run, uid).printedOf(work)}${tag}`;
        const { body, metadata } = encodePrinted({ generation, instance, more, lines });
        const written = storage.blobs.create(names.runs, name, body, {
          contentType: "application/x-ndjson",
          metadata,
        });
        await written.catch((error: unknown) => {
          if (!(error instanceof StorageError)) throw error;
        });
      },
    };
  };
}
