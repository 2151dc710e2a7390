import { decodeJson } from "../model/decode.ts";
import { type Failure, failureSchema } from "../model/run.ts";
import { parseTried, resultBlobs, runBlobs, type Work } from "../model/runBlobs.ts";
import { isFinal } from "../model/state.ts";
import { boundedMap } from "./boundedMap.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./clientLimits.ts";
import { readState, unlessUnreadable } from "./runDocuments.ts";

/** A note that an attempt threw while others of its send were still to come. */
export interface TriedNote {
  readonly work: Work;
  readonly generation: number;
  readonly send: number;
  readonly attempt: Failure;
}

/**
 * The attempts that failed at work which is still tried: notes without a failure record and without an output, in
 * order of their work. The newest notes are read first, at most `triedRead` of them. `recorded` has the names of the
 * failure records. Older versions left notes without content; these are skipped.
 *
 * Not promised: that the work is not done a moment later.
 */
export async function attemptsUnderWay(
  client: Client,
  run: { readonly run: string; readonly uid: string },
  notes: readonly { readonly name: string; readonly lastModifiedMs: number; readonly bytes: number }[],
  recorded: ReadonlySet<string>,
): Promise<readonly TriedNote[]> {
  if (notes.length === 0) return [];
  const state = await unlessUnreadable(() => readState(client, run.run, run.uid), { newer: true });
  if (state === undefined || isFinal(state.value.phase)) return [];
  const { generation, origin } = state.value;
  const blobs = runBlobs(run.run, run.uid, origin);
  const open = notes
    .flatMap((note) => {
      const parsed = parseTried(note.name);
      if (parsed === undefined || parsed.generation !== generation || note.bytes === 0) return [];
      return recorded.has(blobs.failure(parsed.work, generation, parsed.send))
        ? []
        : [{ ...note, ...parsed }];
    })
    .sort((a, b) => b.lastModifiedMs - a.lastModifiedMs)
    .slice(0, clientLimits.triedRead)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const read = await boundedMap(open, clientLimits.readsAtOnce, async ({ name, work, send }) => {
    const attempt = await readNote(client, name);
    if (attempt === undefined || (await isDone(client, { ...run, origin }, generation, work))) return [];
    return [{ work, generation, send, attempt }];
  });
  return read.flat();
}

async function readNote(client: Client, name: string): Promise<Failure | undefined> {
  const found = await client.storage.blobs.read(client.names.runs, name);
  if (found.kind === "missing") return undefined;
  return unlessUnreadable(() => decodeJson(failureSchema, found.body, name), { newer: true });
}

/** Whether another attempt has written the output. */
async function isDone(
  { storage, names }: Client,
  { run, uid, origin }: { readonly run: string; readonly uid: string; readonly origin: number | undefined },
  generation: number,
  work: Work,
): Promise<boolean> {
  const blobs = runBlobs(run, uid, origin);
  const found =
    work.kind === "finish"
      ? await storage.blobs.head(names.results, resultBlobs(run, uid).manifest(generation))
      : await storage.blobs.head(names.runs, outputOf(blobs, generation, work));
  return found.kind === "found";
}

function outputOf(
  blobs: ReturnType<typeof runBlobs>,
  generation: number,
  work: Exclude<Work, { readonly kind: "finish" }>,
): string {
  switch (work.kind) {
    case "plan":
      return blobs.plan;
    case "pack":
      return blobs.part(work.shard, work.pack);
    case "node":
      return blobs.node(generation, work.level, work.index);
  }
}
