import type { CameBy } from "../../election/record/record.ts";
import { decodeJson, wireVersion } from "../../model/decode.ts";
import { LeasefoldError, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { Marker } from "../../model/marker.ts";
import type { Names } from "../../model/names.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { firstState, isFinal, type State, stateSchema } from "../../model/state.ts";
import type { BlobStore } from "../../storage/ports.ts";
import { beginGeneration } from "../decide/restart.ts";

/**
 * The If-Match chain of a run's `state.json`. A new term seals it first, so that every write still in flight from
 * an older term fails; from then on each write stands on the one before.
 *
 * Not promised: that a write which failed had no effect. Its bytes are repeated, and nothing else is written,
 * until one reply is definite; then the state is read back. A write of mine happened only if my termid and the
 * sequence of those very bytes are there.
 */
export interface Ownership {
  readonly term: number;
  readonly termid: string;
  readonly holder: string;
  /** How the lease was acquired; a leader that handed it over has written all that it did. */
  readonly cameBy?: CameBy;
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
  /** Grows with every call, over all runs of a term: other bytes never share a number. */
  nextSequence(): number;
}

export interface StateChain {
  /** As last confirmed. */
  state(): State;
  /** True while the outcome of a write is unknown; the next write settles it. */
  unsettled(): boolean;
  /**
   * Writes the next state under my term. `adopted`: an earlier write of mine, whose outcome was unknown until now,
   * stands instead; `state()` gives it, and whoever wrote decides again. Throws `DeposedError` if the chain is
   * another's, and `StorageError` when the outcome is still unknown; the next write then settles it first.
   */
  write(next: State): Promise<"written" | "adopted">;
}

export interface SealRequest {
  readonly id: string;
  readonly uid: string;
  readonly generation: number;
  readonly cap: number;
  /** How a new generation begins where other code is to compute it. */
  readonly redo?: Marker["redo"];
  readonly code?: string | undefined;
  readonly nowMs: number;
}

/**
 * Takes over the state for this term, or makes the first one. A final state is given as it is and never written
 * again for its generation; a marker of a higher one begins that.
 */
export async function sealState(store: StateStore, owner: Ownership, run: SealRequest): Promise<StateChain> {
  const { id, uid, generation, cap, redo, code, nowMs } = run;
  const blob = runBlobs(id, uid).state;
  const mine = { term: owner.term, holder: owner.holder, atMs: nowMs };
  for (;;) {
    const found = await readState(store, blob, owner.lost);
    if (found === undefined) {
      const first = owned(store, owner, {
        ...firstState({ run: id, uid, generation, cap, nowMs }),
        terms: [mine],
      });
      owner.assertLeading();
      const write = { contentType: "application/json", signal: owner.lost };
      const created = await store.blobs.create(store.names.runs, blob, JSON.stringify(first), write);
      if (created.kind === "created") return chainFrom(store, owner, blob, first, created.etag);
      continue;
    }
    const { state, etag } = found;
    const chain = chainFrom(store, owner, blob, state, etag);
    const over = isFinal(state.phase);
    const retried = over && generation > state.generation;
    const ours = state.termid === owner.termid;
    if (!retried && (over || ours)) return chain;
    if (!ours && state.term >= owner.term) throw new DeposedError(state.term);
    const next = retried ? beginGeneration(state, { generation, cap, redo, code }, nowMs) : state;
    const terms = ours ? state.terms : [...state.terms, mine].slice(-limits.termsKept);
    const written = { ...next, terms, updatedMs: nowMs };
    // Whoever died may have sent more packs than it wrote, also the first ones before it wrote the plan.
    if (!retried && !ours && owner.cameBy !== "handed-over")
      written.doubtUpTo = Math.max(next.doubtUpTo, next.cursor + limits.sendsPerWriteMax);
    try {
      await chain.write(written);
      return chain;
    } catch (error) {
      // The last write of an older term came first: its content is taken over instead.
      const older = error instanceof DeposedError && error.seenTerm > 0 && error.seenTerm < owner.term;
      if (!older) throw error;
    }
  }
}

const owned = (store: StateStore, { term, termid }: Ownership, state: State): State => ({
  ...state,
  v: wireVersion,
  term,
  termid,
  sequence: store.nextSequence(),
});

function chainFrom(
  store: StateStore,
  owner: Ownership,
  blob: string,
  from: State,
  fromEtag: string,
): StateChain {
  let state = from;
  let etag = fromEtag;
  let pending: State | undefined;

  /** Repeats the pending bytes until a reply is definite; throws while it is not, and keeps them. */
  async function settle(mine: State): Promise<void> {
    owner.assertLeading();
    const body = JSON.stringify(mine);
    const write = { contentType: "application/json", ifMatch: etag, signal: owner.lost };
    const reply = await store.blobs.replace(store.names.runs, blob, body, write);
    if (reply.kind === "replaced") {
      state = mine;
      etag = reply.etag;
    } else {
      // An earlier try of these bytes was carried out and its reply lost, or the chain is another's.
      const found = await readState(store, blob, owner.lost);
      if (found?.state.termid !== owner.termid) throw new DeposedError(found?.state.term ?? 0);
      state = found.state;
      etag = found.etag;
    }
    pending = undefined;
  }

  return {
    state: () => state,
    unsettled: () => pending !== undefined,
    async write(next) {
      const unsettled = pending;
      const mine = unsettled ?? owned(store, owner, next);
      pending = mine;
      try {
        await settle(mine);
      } catch (error) {
        // A definite refusal had no effect; anything else may have had one.
        if (error instanceof StorageError && error.kind !== "busy") pending = undefined;
        throw error;
      }
      return unsettled === undefined && state.sequence === mine.sequence ? "written" : "adopted";
    },
  };
}

async function readState(
  store: Pick<StateStore, "blobs" | "names">,
  blob: string,
  signal: AbortSignal,
): Promise<{ readonly state: State; readonly etag: string } | undefined> {
  const found = await store.blobs.read(store.names.runs, blob, { signal });
  if (found.kind === "missing") return undefined;
  return { state: decodeJson(stateSchema, found.body, blob), etag: found.properties.etag };
}
