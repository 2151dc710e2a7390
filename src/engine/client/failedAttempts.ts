import pMap from "p-map";
import { decodeJson, unlessUnreadable } from "../model/decode.ts";
import { isOutdated, parseOutputFacts } from "../model/output.ts";
import { type Failure, failureSchema } from "../model/run.ts";
import { parseTried, resultBlobs, runBlobs, type Work } from "../model/runBlobs.ts";
import { isFinal, type State } from "../model/state.ts";
import type { ListedBlob } from "../storage/ports.ts";
import { type Client, clientLimits } from "./client.ts";

/** A note that an attempt failed while further attempts of its send follow. */
export interface TriedNote {
  readonly work: Work;
  readonly generation: number;
  readonly send: number;
  readonly attempt: Failure;
}

/**
 * The failed attempts at work that is still tried: notes without a failure record (`recorded`) and without an output, in
 * order of their work. Only the newest `triedRead` notes are read. Older versions left notes without content, which are
 * skipped.
 *
 * Not promised: that the work is not done a moment later.
 */
export async function failedAttempts(
  client: Client,
  state: State,
  notes: readonly ListedBlob[],
  recorded: ReadonlySet<string>,
): Promise<readonly TriedNote[]> {
  if (isFinal(state.phase)) return [];
  const { run, uid, generation } = state;
  const blobs = runBlobs(run, uid);
  const open = notes
    .flatMap((note) => {
      const parsed = parseTried(note.name);
      if (parsed === undefined || parsed.generation !== generation || note.bytes === 0) return [];
      const record = blobs.failure(parsed.work, generation, parsed.send);
      return recorded.has(record) ? [] : [{ ...note, ...parsed }];
    })
    .sort((a, b) => b.lastModifiedMs - a.lastModifiedMs)
    .slice(0, clientLimits.triedRead)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const read = async ({ name, work, send }: (typeof open)[number]): Promise<TriedNote[]> => {
    const attempt = await readNote(client, name);
    if (attempt === undefined || (await isDone(client, state, work))) return [];
    return [{ work, generation, send, attempt }];
  };
  return (await pMap(open, read, { concurrency: clientLimits.readsAtOnce })).flat();
}

async function readNote(client: Client, name: string): Promise<Failure | undefined> {
  const found = await client.storage.blobs.read(client.names.runs, name);
  if (found.kind === "missing") return undefined;
  return unlessUnreadable(() => decodeJson(failureSchema, found.body, name));
}

/** Whether another attempt has written the output. */
async function isDone({ storage, names }: Client, { run, uid, generation }: State, work: Work) {
  const blobs = runBlobs(run, uid);
  const outputOf = (work: Exclude<Work, { readonly kind: "finish" }>): string => {
    if (work.kind === "plan") return blobs.plan;
    return work.kind === "pack"
      ? blobs.part(work.shard, work.pack)
      : blobs.node(generation, work.level, work.index);
  };
  const [container, name] =
    work.kind === "finish"
      ? [names.results, resultBlobs(run, uid).manifest(generation)]
      : [names.runs, outputOf(work)];
  const found = await storage.blobs.head(container, name);
  return found.kind === "found" && !isOutdated(parseOutputFacts(found.properties.contentType), generation);
}
