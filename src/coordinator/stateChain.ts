import { decodeJson, wireVersion } from "../model/decode.ts";
import { LeasefoldError, StorageError } from "../model/errors.ts";
import { type Names, runBlobs } from "../model/names.ts";
import { firstState, isFinal, type State, stateSchema } from "../model/state.ts";
import type { BlobStore, Clock } from "../storage/ports.ts";

/**
 * The If-Match chain of a run's `state.json`. A new term seals it first, so that every write still in flight from
 * an older term fails; from then on each write stands on the one before.
 *
 * Not promised: that a write which failed had no effect. The same bytes are repeated until one reply is definite,
 * then the state is read back: mine happened only if my termid and the sequence of those bytes are there.
 */
export interface Ownership {
  readonly term: number;
  readonly termid: string;
  readonly holder: string;
  /** Fires when no effect may follow any more; every storage call gets it. */
  readonly lost: AbortSignal;
  /** Throws once the stop-work deadline is past. */
  assertLeading(): void;
}

/** Another term owns the state of some run, so mine is over for all of them. `seenTerm` is the term found there. */
export class DeposedError extends LeasefoldError {
  readonly seenTerm: number;
  constructor(seenTerm: number) {
    super("deposed", `term ${seenTerm} owns the state now`);
    this.seenTerm = seenTerm;
  }
}

export interface StateStore {
  readonly blobs: BlobStore;
  readonly names: Names;
  readonly clock: Clock;
}

export interface StateChain {
  /** As last confirmed. */
  state(): State;
  /**
   * Writes the next state under my term; throws `DeposedError` if the chain is another's. `adopted`: an earlier
   * write of mine with other bytes is there instead; `state()` now gives it, and whoever wrote decides again.
   */
  write(next: State): Promise<"written" | "adopted">;
}

/**
 * Takes over the state for this term, or makes the first one. A final state is given as it is and never written
 * again for its generation.
 */
export async function sealState(
  store: StateStore,
  owner: Ownership,
  run: {
    readonly id: string;
    readonly uid: string;
    readonly generation: number;
    readonly cap: number;
    readonly nowMs: number;
  },
): Promise<StateChain> {
  const blob = runBlobs(run.id, run.uid).state;
  const terms = { term: owner.term, holder: owner.holder, atMs: run.nowMs };
  for (;;) {
    const found = await readState(store, blob, owner.lost);
    if (found === undefined) {
      const first = firstState({
        run: run.id,
        uid: run.uid,
        generation: run.generation,
        cap: run.cap,
        nowMs: run.nowMs,
      });
      const mine: State = { ...first, term: owner.term, termid: owner.termid, sequence: 1, terms: [terms] };
      owner.assertLeading();
      const created = await untilDefinite(store, owner, () =>
        store.blobs.create(store.names.runs, blob, JSON.stringify(mine), {
          contentType: "application/json",
          signal: owner.lost,
        }),
      );
      if (created.kind === "created") return chainFrom(store, owner, blob, mine, created.etag);
      continue;
    }
    if (isFinal(found.state.phase)) return chainFrom(store, owner, blob, found.state, found.etag);
    if (found.state.termid === owner.termid) return chainFrom(store, owner, blob, found.state, found.etag);
    if (found.state.term >= owner.term) throw new DeposedError(found.state.term);
    const chain = chainFrom(store, owner, blob, { ...found.state, sequence: 0 }, found.etag);
    if ((await chain.write({ ...found.state, terms: [...found.state.terms, terms] })) === "written")
      return chain;
  }
}

function chainFrom(
  store: StateStore,
  owner: Ownership,
  blob: string,
  from: State,
  fromEtag: string,
): StateChain {
  let state = from;
  let etag = fromEtag;
  return {
    state: () => state,
    async write(next) {
      const mine: State = {
        ...next,
        v: wireVersion,
        term: owner.term,
        termid: owner.termid,
        sequence: state.sequence + 1,
      };
      const body = JSON.stringify(mine);
      const reply = await untilDefinite(store, owner, () =>
        store.blobs.replace(store.names.runs, blob, body, {
          contentType: "application/json",
          ifMatch: etag,
          signal: owner.lost,
        }),
      );
      if (reply.kind === "replaced") {
        etag = reply.etag;
        state = mine;
        return "written";
      }
      // Either an earlier try of these bytes was carried out and its reply lost, or the chain is another's.
      const found = await readState(store, blob, owner.lost);
      if (found?.state.termid !== owner.termid) throw new DeposedError(found?.state.term ?? 0);
      etag = found.etag;
      state = found.state;
      return found.state.sequence === mine.sequence ? "written" : "adopted";
    },
  };
}

async function readState(
  store: StateStore,
  blob: string,
  signal: AbortSignal,
): Promise<{ readonly state: State; readonly etag: string } | undefined> {
  const found = await store.blobs.read(store.names.runs, blob, { signal });
  if (found.kind === "missing") return undefined;
  return { state: decodeJson(stateSchema, found.body, blob), etag: found.properties.etag };
}

/** Repeats one and the same call while its outcome is unknown and I lead. */
async function untilDefinite<T>(store: StateStore, owner: Ownership, call: () => Promise<T>): Promise<T> {
  for (;;) {
    owner.assertLeading();
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
      await store.clock.sleep(200, owner.lost);
    }
  }
}
