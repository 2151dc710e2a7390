import { LeasefoldError, StorageError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import type { Marker } from "../../model/marker.ts";
import { runBlobs } from "../../model/runBlobs.ts";
import { firstState, isFinal, type State, stateSchema } from "../../model/state.ts";
import { versions } from "../../model/versions.ts";
import { readDocument } from "../../storage/callSteps.ts";
import type { Storage } from "../../storage/ports.ts";
import { beginGeneration } from "../decide/restart.ts";
import type { CoordinatorPorts, Leader, StateChain } from "../term.ts";

/** Another term owns the state of some run, so mine is over for all of them. `seenTerm` is the term found there. */
export class DeposedError extends LeasefoldError {
  readonly seenTerm: number;
  constructor(seenTerm: number) {
    super("deposed", `term ${seenTerm} owns the state now`);
    this.seenTerm = seenTerm;
  }
}

export type StateStore = Pick<CoordinatorPorts, "names" | "nextSequence"> & {
  readonly storage: Pick<Storage, "blobs">;
};

export type TakeOverRequest = Pick<Marker, "uid" | "generation" | "cap"> &
  Partial<Pick<Marker, "command" | "who">> & {
    readonly id: string;
    readonly nowMs: number;
    /** What the first state records beyond what every first state does. */
    readonly first?: Partial<State>;
    /** There is hardly a state yet, so making the first one comes before reading one. */
    readonly isNew?: boolean;
    /** Is told of the final state over which the next generation begins. */
    readonly beforeRetry?: (ended: State) => Promise<void>;
  };

/**
 * Takes over the state for this term, or makes the first one. A final state is given as it is and never written
 * again for its generation; a marker of a higher one begins that, whatever the state says.
 */
export async function takeOverState(
  store: StateStore,
  leader: Leader,
  run: TakeOverRequest,
): Promise<StateChain> {
  const { id, uid, generation, cap, nowMs, first: begins } = run;
  const blob = runBlobs(id, uid).state;
  const mine = { term: leader.term, holder: leader.holder, atMs: nowMs };
  for (let tried = 0; ; tried += 1) {
    const found = run.isNew === true && tried === 0 ? undefined : await readState(store, blob, leader.lost);
    if (found === undefined) {
      const unowned = firstState({ run: id, uid, generation, cap, nowMs });
      const first = owned(store, leader, { ...unowned, ...begins, terms: [mine] });
      leader.assertLeading();
      const write = { contentType: "application/json", signal: leader.lost };
      const created = await store.storage.blobs.create(store.names.runs, blob, JSON.stringify(first), write);
      if (created.kind === "created")
        return chainFrom(store, leader, blob, { state: first, etag: created.etag, created: true });
      continue;
    }
    const { state } = found;
    const chain = chainFrom(store, leader, blob, found);
    const over = isFinal(state.phase);
    // A state of an earlier generation that has not ended is one that an operator put back.
    const retried = generation > state.generation;
    const ours = state.termid === leader.termid;
    if (!retried && (over || ours)) return chain;
    if (!ours && state.term >= leader.term) throw new DeposedError(state.term);
    if (retried && over) await run.beforeRetry?.(state);
    const next = retried ? beginGeneration(state, run, nowMs) : state;
    const terms = ours ? state.terms : [...state.terms, mine].slice(-limits.termsKept);
    const written = { ...next, terms, updatedMs: nowMs };
    // Whoever died may have sent more packs than it wrote, also the first ones before it wrote the plan. A term that
    // handed over vouches for its own writes, not for a state that it never came to.
    const inOrder = leader.cameBy === "handed-over" && state.term === leader.term - 1;
    if (!retried && !ours && !inOrder)
      written.possiblySentUpTo = Math.max(next.possiblySentUpTo, next.cursor + limits.sendsPerWriteMax);
    try {
      await chain.write(written);
      return chain;
    } catch (error) {
      // The last write of an older term came first: its content is taken over instead.
      const older = error instanceof DeposedError && error.seenTerm > 0 && error.seenTerm < leader.term;
      if (!older) throw error;
    }
  }
}

const owned = (store: StateStore, { term, termid }: Leader, state: State): State => ({
  ...state,
  v: versions.state,
  term,
  termid,
  sequence: store.nextSequence(),
});

/** A state as it was read or written. */
interface StoredState {
  readonly state: State;
  readonly etag: string;
  readonly created?: true;
}

function chainFrom(store: StateStore, leader: Leader, blob: string, from: StoredState): StateChain {
  let { state, etag } = from;
  let pending: State | undefined;

  /** Repeats the pending bytes until a reply is definite; throws while it is not, and keeps them. */
  async function settle(mine: State): Promise<void> {
    leader.assertLeading();
    const body = JSON.stringify(mine);
    const write = { contentType: "application/json", ifMatch: etag, signal: leader.lost };
    const reply = await store.storage.blobs.replace(store.names.runs, blob, body, write);
    if (reply.kind === "replaced") {
      state = mine;
      etag = reply.etag;
    } else {
      // An earlier try of these bytes was carried out and its reply lost, or the chain is another's.
      const found = await readState(store, blob, leader.lost);
      if (found?.state.termid !== leader.termid) throw new DeposedError(found?.state.term ?? 0);
      state = found.state;
      etag = found.etag;
    }
    pending = undefined;
  }

  return {
    created: from.created === true,
    state: () => state,
    unsettled: () => pending !== undefined,
    async write(next) {
      const unsettled = pending;
      const mine = unsettled ?? owned(store, leader, next);
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

async function readState({ storage, names }: StateStore, blob: string, signal: AbortSignal) {
  const found = await readDocument(storage.blobs, [names.runs, blob], stateSchema, { signal });
  return found && { state: found.value, etag: found.etag };
}
