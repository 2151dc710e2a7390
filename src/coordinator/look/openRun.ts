import { decodeJson, idSchema } from "../../model/decode.ts";
import { CorruptDataError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { isVouched } from "../../model/manifestFits.ts";
import type { Marker } from "../../model/marker.ts";
import { type Spec, specSchema } from "../../model/run.ts";
import { runBlobs, specBlob } from "../../model/runBlobs.ts";
import { firstState, isFinal, type State, stateSchema } from "../../model/state.ts";
import { newMemory, taskKey } from "../decide/draft.ts";
import { cleanUp, type ListedMarker, manifestOrNone } from "../perform/close.ts";
import type { CoordinatorPorts, RunWork } from "../perform/perform.ts";
import { DeposedError, type Ownership, type SealRequest, sealState } from "../perform/stateChain.ts";

/** A run that this term has taken over, with what was asked for. */
export type OpenRun = RunWork & { readonly spec: Spec };

/**
 * Takes a run over for this term: reads its spec and seals its state. `over`: it had ended, and only the end of its
 * clean-up was missing. `to-delete`: its spec is gone, so what is left of it goes too.
 */
export async function openRun(
  ports: CoordinatorPorts,
  owner: Ownership,
  marker: Marker,
  listed: ListedMarker,
  nowMs: number,
): Promise<OpenRun | "over" | "to-delete"> {
  const { blobs } = ports.storage;
  const spec = await readSpec(ports, owner, listed.id);
  // A marker whose spec is gone or is another uid's is what a deletion leaves behind last.
  if (spec?.uid !== marker.uid) return "to-delete";
  const { generation, cap, redo, code } = marker;
  const request: SealRequest = { id: listed.id, uid: spec.uid, generation, cap, redo, code, nowMs };
  const chain = await sealState(
    { blobs, names: ports.names, nextSequence: ports.nextSequence },
    owner,
    request,
  );
  const state = chain.state();
  if (isFinal(state.phase)) {
    await cleanUp(ports, owner, state, await manifestOrNone(ports, owner, state), listed);
    return "over";
  }
  const { run, uid, phase, packsDone, paused } = state;
  ports.log(logEvents.runSealed({ run, uid, term: owner.term, phase, packsDone, paused }));
  const recorded = Object.keys(state.tasks).map((name) => taskKey(state, name));
  return { spec, chain, working: state, memory: newMemory(ports.clock.monotonicMs(), state.rate, recorded) };
}

async function readSpec(ports: CoordinatorPorts, owner: Ownership, id: string): Promise<Spec | undefined> {
  const name = specBlob(id);
  const found = await ports.storage.blobs.read(ports.names.runs, name, { signal: owner.lost });
  return found.kind === "missing" ? undefined : decodeJson(specSchema, found.body, name);
}

/**
 * Ends a run whose spec, marker or state does not decode, so that it says why and others go on. A state that does
 * decode is respected: a final one only gets its clean-up, and one of a higher term ends mine. Otherwise it is
 * replaced under the very ETag it was read with, by `complete` if the manifest is there (a result that was
 * accepted is never lost), else by `failed`.
 */
export async function failUnreadable(
  ports: CoordinatorPorts,
  owner: Ownership,
  marker: Readonly<Record<string, string>>,
  listed: ListedMarker,
  error: CorruptDataError,
  nowMs: number,
): Promise<void> {
  const { blobs } = ports.storage;
  const uid = idSchema.safeParse(marker["uid"]).data ?? (await readSpec(ports, owner, listed.id))?.uid;
  // Without a uid nothing says whose marker it is; a person has to look.
  if (uid === undefined) throw error;
  const blob = runBlobs(listed.id, uid).state;
  const there = await blobs.read(ports.names.runs, blob, { signal: owner.lost });
  const known = there.kind === "found" ? stateOrNone(there.body, blob) : undefined;
  const generation = wholeOr(marker["generation"], 1);
  const cap = wholeOr(marker["cap"], limits.capDefault);
  const first = known ?? firstState({ run: listed.id, uid, generation, cap, nowMs });
  const found = await manifestOrNone(ports, owner, first);
  // Where the state does not decode there is no tally to hold the manifest against.
  const fits = found !== undefined && (known === undefined || isVouched(known, found));
  const manifest = fits ? found : undefined;
  if (known !== undefined && isFinal(known.phase)) return cleanUp(ports, owner, known, manifest, listed);
  const ours = known?.termid === owner.termid;
  if (known !== undefined && !ours && known.term >= owner.term) throw new DeposedError(known.term);

  const failed = { phase: "failed", error: { code: error.code, message: error.message } } as const;
  const mine = { term: owner.term, termid: owner.termid, sequence: ports.nextSequence(), finishedMs: nowMs };
  const ended: State = { ...first, ...mine, ...(manifest === undefined ? failed : { phase: "complete" }) };
  const body = JSON.stringify(ended);
  const write = { contentType: "application/json", signal: owner.lost };
  owner.assertLeading();
  const reply =
    there.kind === "missing"
      ? await blobs.create(ports.names.runs, blob, body, write)
      : await blobs.replace(ports.names.runs, blob, body, { ...write, ifMatch: there.properties.etag });
  if (reply.kind === "conflict" || reply.kind === "existed") return;
  const told = {
    run: listed.id,
    uid,
    phase: ended.phase,
    ms: 0,
    packs: ended.packsDone,
    sentAgain: ended.sentAgain,
  };
  ports.log(logEvents.runEnded({ ...told, error: error.message }));
  await cleanUp(ports, owner, ended, manifest, listed);
}

/** The marker itself may be what does not decode. */
const wholeOr = (text: string | undefined, otherwise: number): number => {
  const value = Number(text);
  return Number.isSafeInteger(value) && value > 0 ? value : otherwise;
};

function stateOrNone(body: Uint8Array, blob: string): State | undefined {
  try {
    return decodeJson(stateSchema, body, blob);
  } catch (error) {
    if (error instanceof CorruptDataError) return undefined;
    throw error;
  }
}
