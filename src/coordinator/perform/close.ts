import { addCalls, decodeCalls } from "../../model/calls.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { logEvents } from "../../model/log.ts";
import { differenceFrom, manifestDiffers } from "../../model/manifestFits.ts";
import { shardsOf } from "../../model/packs.ts";
import type { Manifest } from "../../model/run.ts";
import { isFinal, type State } from "../../model/state.ts";
import { topLevel } from "../../model/tree.ts";
import { cleanupMessage, type Draft } from "../decide/draft.ts";
import { readManifest } from "../look/look.ts";
import { assertLegalMove, type CoordinatorPorts, type RunWork } from "./perform.ts";
import { sendAll } from "./send.ts";
import type { Ownership } from "./stateChain.ts";

/** A marker as the list gave it. */
export interface ListedMarker {
  readonly id: string;
  readonly etag: string;
}

/**
 * Ends a run: final state, clean-up, marker last. Before any final state but `complete` the manifest is looked for
 * once more, because a finisher that was given up may have written it; if it is there and fits, the run is complete.
 *
 * A manifest that tells of other chunks than the leader has counted comes from a forged message: the run is not
 * complete by it, and the state notes its generation, so that nobody is given its result.
 */
export async function close(
  ports: CoordinatorPorts,
  owner: Ownership,
  run: RunWork,
  ending: NonNullable<Draft["ending"]>,
  draft: { readonly state: State; readonly manifest?: Manifest | undefined },
  listed: ListedMarker,
  nowMs: number,
): Promise<void> {
  const { chain } = run;
  const before = chain.state();
  owner.assertLeading();
  const found = draft.manifest ?? (await manifestOrNone(ports, owner, before));
  const difference = found === undefined ? undefined : differenceFrom(draft.state, found);
  const manifest = difference === undefined ? found : undefined;
  const phase = manifest !== undefined ? "complete" : ending.phase === "complete" ? "failed" : ending.phase;
  const next = finalState(draft.state, phase, manifest, nowMs);
  if (difference !== undefined) next.refused = [...(next.refused ?? []), next.generation];
  const refused = difference !== undefined && ending.phase === "complete";
  const error = refused ? manifestDiffers(difference) : ending.error;
  if (phase === "failed" && error !== undefined) next.error = error;
  assertLegalMove(before, next);
  const outcome = await chain.write(next);
  run.working = chain.state();
  if (outcome === "adopted") return;
  const { run: id, uid, packsDone: packs, sentAgain } = next;
  const told = { run: id, uid, phase, ms: nowMs - next.createdMs, packs, sentAgain };
  ports.log(logEvents.runEnded(next.error === undefined ? told : { ...told, error: next.error.message }));
  await cleanUp(ports, owner, next, manifest, listed);
}

/** The manifest, or none where it is missing or does not decode: then there is no result that anyone could read. */
export async function manifestOrNone(
  ports: CoordinatorPorts,
  owner: Ownership,
  state: State,
): Promise<Manifest | undefined> {
  try {
    return await readManifest(ports.storage.blobs, ports.names, state, owner.lost);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}

/** What follows a final state; done again by any later leader that still finds the marker. */
export async function cleanUp(
  ports: CoordinatorPorts,
  owner: Ownership,
  state: State,
  manifest: Manifest | undefined,
  listed: ListedMarker,
): Promise<void> {
  if (!isFinal(state.phase)) return;
  const { layout } = state;
  if (state.phase === "complete" && manifest?.complete === true && layout !== undefined) {
    const shards = Array.from({ length: shardsOf(layout) }, (_, shard) => shard);
    const more = topLevel(layout) > 0 || state.origin !== undefined;
    const nodes = more ? [cleanupMessage(state)] : [];
    const messages = [...shards.map((shard) => cleanupMessage(state, shard)), ...nodes];
    await sendAll(
      ports,
      owner,
      messages.map((message) => ({ message, urgent: false })),
    );
  }
  owner.assertLeading();
  await ports.storage.blobs.remove(ports.names.active, listed.id, {
    ifMatch: listed.etag,
    signal: owner.lost,
  });
}

function finalState(
  from: State,
  phase: State["phase"],
  manifest: Manifest | undefined,
  nowMs: number,
): State {
  const next: State = {
    ...from,
    phase,
    tasks: {},
    again: {},
    batches: [],
    updatedMs: nowMs,
    finishedMs: nowMs,
  };
  return manifest === undefined
    ? next
    : { ...next, calls: addCalls(next.calls, decodeCalls(manifest.calls)) };
}
