import { decodeJson } from "../model/decode.ts";
import type { CorruptDataError } from "../model/errors.ts";
import { logEvents } from "../model/log.ts";
import type { Marker } from "../model/marker.ts";
import { runBlobs, specBlob } from "../model/names.ts";
import { type Spec, specSchema } from "../model/run.ts";
import { firstState, isFinal } from "../model/state.ts";
import { cleanUp, type ListedMarker } from "./close.ts";
import { newMemory } from "./draft.ts";
import { readManifest } from "./look.ts";
import { type CoordinatorPorts, type RunWork, sendTasks } from "./perform.ts";
import { recordedTasks } from "./resend.ts";
import { type Ownership, sealState } from "./stateChain.ts";

/** A run that this term has taken over, with what was asked for. */
export type OpenRun = RunWork & { readonly spec: Spec };

/**
 * Takes a run over for this term: reads its spec, seals its state and sends every recorded task once more, because
 * the leader before may have died between record and send. `undefined` when there is nothing left to lead: its
 * spec is gone, or it had ended and only the end of its clean-up was missing.
 */
export async function openRun(
  ports: CoordinatorPorts,
  owner: Ownership,
  marker: Marker,
  listed: ListedMarker,
  nowMs: number,
): Promise<OpenRun | undefined> {
  const { blobs } = ports.storage;
  const name = specBlob(listed.id);
  const found = await blobs.read(ports.names.runs, name, { signal: owner.lost });
  const spec = found.kind === "missing" ? undefined : decodeJson(specSchema, found.body, name);
  if (spec?.uid !== marker.uid) {
    // A marker whose spec is gone or is another uid's is what a deletion leaves behind last.
    owner.assertLeading();
    await blobs.remove(ports.names.active, listed.id, { ifMatch: listed.etag, signal: owner.lost });
    return undefined;
  }
  const { generation, cap } = marker;
  const chain = await sealState({ blobs, names: ports.names, clock: ports.clock }, owner, {
    id: listed.id,
    uid: spec.uid,
    generation,
    cap,
    nowMs,
  });
  const state = chain.state();
  if (isFinal(state.phase)) {
    const manifest = await readManifest(blobs, ports.names, state, owner.lost);
    await cleanUp(ports, owner, state, manifest, listed);
    return undefined;
  }
  const { run, uid, phase, packsDone } = state;
  ports.log(logEvents.runSealed({ run, uid, term: owner.term, phase, packsDone }));
  await sendTasks(ports, owner, state, recordedTasks(state));
  return { spec, chain, working: state, memory: newMemory(ports.clock.monotonicMs()) };
}

/**
 * Ends a run whose stored spec, marker or state does not decode, so that it says why and others go on. The bytes
 * that do not decode are replaced under the ETag they were read with.
 */
export async function failUnreadable(
  ports: CoordinatorPorts,
  owner: Ownership,
  uid: string,
  listed: ListedMarker,
  error: CorruptDataError,
  nowMs: number,
): Promise<void> {
  const { blobs } = ports.storage;
  const blob = runBlobs(listed.id, uid).state;
  const first = firstState({ run: listed.id, uid, generation: 1, cap: 1, nowMs });
  const failed = {
    ...first,
    term: owner.term,
    termid: owner.termid,
    phase: "failed" as const,
    finishedMs: nowMs,
    error: { code: error.code, message: error.message },
  };
  const body = JSON.stringify(failed);
  const write = { contentType: "application/json", signal: owner.lost };
  owner.assertLeading();
  const there = await blobs.head(ports.names.runs, blob, { signal: owner.lost });
  const reply =
    there.kind === "missing"
      ? await blobs.create(ports.names.runs, blob, body, write)
      : await blobs.replace(ports.names.runs, blob, body, { ...write, ifMatch: there.properties.etag });
  if (reply.kind === "conflict" || reply.kind === "existed") return;
  ports.log(
    logEvents.runEnded({
      run: listed.id,
      uid,
      phase: "failed",
      ms: 0,
      packs: 0,
      sentAgain: 0,
      error: error.message,
    }),
  );
  owner.assertLeading();
  await blobs.remove(ports.names.active, listed.id, { ifMatch: listed.etag, signal: owner.lost });
}
