import { decodeJson, idSchema, positive, unlessCorrupt } from "../../model/decode.ts";
import { CorruptDataError, messageOf, OtherVersionError, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { type Log, logEvents } from "../../model/log.ts";
import { isVouched } from "../../model/manifestFits.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { firstState, isFinal, type State, stateSchema } from "../../model/state.ts";
import { manifestOrNone, readSpec } from "../poll/poll.ts";
import { commit, type ListedMarker, type Term } from "../term.ts";
import { cleanUp, close, logEnd } from "./close.ts";
import { DeposedError } from "./stateChain.ts";

/**
 * Handles the error of one run. After a storage error the run stays as it is for the next poll; bytes that do not
 * decode end the run, and those of another version are left as they are; only the loss of leadership ends the term.
 */
export async function handleRunError(term: Term, listed: ListedMarker, error: unknown): Promise<void> {
  term.leader.assertLeading();
  if (error instanceof DeposedError) throw error;
  const tell = term.backoff.add(listed, term.clock.monotonicMs());
  const log: Log = (event) => {
    if (tell) term.log(event);
  };
  const { id } = listed;
  const run = term.runs.get(id);
  const uid = run?.spec.uid ?? listed.metadata["uid"] ?? "";
  const skipped = (code: string, cause: unknown) =>
    log(logEvents.runSkipped({ run: id, uid, code, message: messageOf(cause) }));
  if (error instanceof OtherVersionError) {
    term.runs.delete(id);
    log(logEvents.needsOtherVersion({ run: id, uid, message: error.message }));
  } else if (error instanceof CorruptDataError) {
    term.runs.delete(id);
    const ending = { phase: "failed", error: { code: error.code, message: error.message } } as const;
    try {
      if (run === undefined) await failUnreadable(term, listed, error, ending);
      else {
        commit(run, { listed });
        await close(run, run.chain.state(), ending);
      }
    } catch (worse) {
      term.leader.assertLeading();
      if (worse instanceof DeposedError) throw worse;
      skipped(error.code, worse);
    }
  } else skipped(error instanceof StorageError ? error.storageCode || error.kind : "unexpected", error);
}

/**
 * Ends a run whose spec, marker or state does not decode, so that it says why and others go on. A state that does
 * decode is respected: a final one only gets its clean-up, and one of a higher term ends mine. Otherwise it is
 * replaced under the very ETag it was read with, by `complete` if the manifest is there (a result that was
 * accepted is never lost), else by `failed`.
 */
async function failUnreadable(
  term: Term,
  listed: ListedMarker,
  error: CorruptDataError,
  failed: Partial<State>,
): Promise<void> {
  const { leader, names } = term;
  const { blobs } = term.storage;
  const { id, metadata, nowMs } = listed;
  const uid = idSchema.parse(metadata["uid"]);
  const blob = runBlobs(id, uid).state;
  const there = await blobs.read(names.runs, blob, { signal: leader.lost });
  const known =
    there.kind === "found" ? await unlessCorrupt(() => decodeJson(stateSchema, there.body, blob)) : undefined;
  const generation = wholeOr(metadata["generation"], 1);
  const cap = wholeOr(metadata["cap"], limits.capDefault);
  const first = known ?? firstState({ run: id, uid, generation, cap, nowMs });
  const found = await manifestOrNone(term, first);
  // Where the state does not decode there is no tally to hold the manifest against.
  const fits = found !== undefined && (known === undefined || isVouched(known, found));
  const manifest = fits ? found : undefined;
  const submitted = await unlessCorrupt(() => readSpec(term, id));
  if (known !== undefined && isFinal(known.phase))
    return cleanUp(term, listed, { state: known, submitted, manifest });
  const ours = known?.termid === leader.termid;
  if (known !== undefined && !ours && known.term >= leader.term) throw new DeposedError(known.term);

  const mine = { term: leader.term, termid: leader.termid, sequence: term.nextSequence(), finishedMs: nowMs };
  const ended: State = { ...first, ...mine, ...(manifest === undefined ? failed : { phase: "complete" }) };
  const body = JSON.stringify(ended);
  const write = { contentType: "application/json", signal: leader.lost };
  leader.assertLeading();
  const reply =
    there.kind === "missing"
      ? await blobs.create(names.runs, blob, body, write)
      : await blobs.replace(names.runs, blob, body, { ...write, ifMatch: there.properties.etag });
  if (reply.kind === "conflict" || reply.kind === "existed") return;
  logEnd(term, { ...ended, run: id, uid, error: { code: error.code, message: error.message } }, 0, submitted);
  await cleanUp(term, listed, { state: ended, submitted, manifest });
}

/** The marker itself may be what does not decode. */
const wholeOr = (text: string | undefined, otherwise: number): number => {
  return positive.safeParse(Number(text)).data ?? otherwise;
};
