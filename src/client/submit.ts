import { wireVersion } from "../model/decode.ts";
import { InputError, StorageError } from "../model/errors.ts";
import { limits } from "../model/limits.ts";
import { encodeMarker } from "../model/marker.ts";
import { encodeWake } from "../model/message.ts";
import type { Spec } from "../model/run.ts";
import { specBlob } from "../model/runBlobs.ts";
import { isFinal } from "../model/state.ts";
import type { Client } from "./client.ts";
import { clientLimits } from "./clientLimits.ts";
import { inPlaces } from "./places.ts";
import { readMarker, readSpec, readState, unlessUnreadable } from "./runDocuments.ts";
import { type CheckedRequest, checkRequest, newRunId, newUid, type RunRequest } from "./runRequest.ts";

export interface Submitted {
  readonly run: string;
  readonly uid: string;
  /** False when a run of this id and with the same request was there already. */
  readonly created: boolean;
  /** False when the wake queue could not be reached: the run then starts with the next timer tick. */
  readonly woken: boolean;
}

/**
 * Submits a run: spec create-only, then marker create-only, then two wakes. Any number of submits of the same id
 * and request, at once or after a crash between two of these writes, make one run.
 *
 * Throws `InputError`: `invalid` for bad input; `conflict` `id-taken` where another request has the id, and
 * `being-deleted` where an older run of this id is still on its way out.
 */
export async function submit(client: Client, request: RunRequest): Promise<Submitted> {
  const checked = checkRequest(request, client.calculations);
  const deadlineMs = client.clock.monotonicMs() + clientLimits.deletionWaitMs;
  const drawn = new Set<string>();
  let id = checked.id ?? drawId(client, checked);
  let askedToDelete = false;
  for (;;) {
    // A new one for each try: the spec of an earlier try may have been run by another submit and deleted since.
    const uid = newUid(client.random);
    drawn.add(uid);
    const tried = await trySubmit(client, checked, id, uid, drawn);
    if (tried.kind === "accepted") {
      const woken = tried.final || (await sendWakes(client, "submit"));
      return { run: id, uid: tried.uid, created: drawn.has(tried.uid), woken };
    }
    if (tried.kind === "taken") {
      if (checked.id !== undefined) throw idTaken(id);
      id = drawId(client, checked);
      continue;
    }
    if (client.clock.monotonicMs() >= deadlineMs) throw beingDeleted(id);
    // The leader may be asleep, and only a leader ends a deletion.
    if (!askedToDelete) await sendWakes(client, "submit");
    askedToDelete = true;
    await client.clock.sleep(clientLimits.deletionPollMs);
  }
}

type Tried =
  | { readonly kind: "accepted"; readonly uid: string; readonly final: boolean }
  /** Another request has this id. */
  | { readonly kind: "taken" }
  /** An older run of this id is being deleted, or was deleted between two of our calls. */
  | { readonly kind: "leaving" };

async function trySubmit(
  client: Client,
  request: CheckedRequest,
  id: string,
  uid: string,
  drawn: ReadonlySet<string>,
): Promise<Tried> {
  const created = await createSpec(client, request, id, uid);
  let owner = uid;
  let final = false;
  if (created.kind === "existed") {
    const spec = (await readSpec(client, id))?.value;
    if (spec === undefined) return { kind: "leaving" };
    owner = spec.uid;
    const ours = drawn.has(owner);
    if (!ours && request.id === undefined) return { kind: "taken" };
    if (!ours && spec.requestHash !== request.requestHash)
      return { kind: (await isBeingDeleted(client, id)) ? "leaving" : "taken" };
    final = !ours && (await isFinished(client, id, owner));
  }
  // A finished run needs no marker, but it must not be on its way out.
  const stays = final ? !(await isBeingDeleted(client, id)) : await placeMarker(client, request, id, owner);
  if (!stays) return { kind: "leaving" };
  // A deletion may have run between our call for the spec and that for the marker. A spec that is still there after
  // the marker is out of its reach, because a deletion removes the spec first and the marker last.
  const now = (await readSpec(client, id))?.value.uid;
  return now === owner ? { kind: "accepted", uid: owner, final } : { kind: "leaving" };
}

function createSpec(client: Client, request: CheckedRequest, id: string, uid: string) {
  const spec: Spec = {
    v: wireVersion,
    run: id,
    uid,
    calculation: request.calculation.name,
    params: request.params,
    ...(request.given === undefined ? {} : { given: request.given }),
    code: request.code,
    ...(request.packSize === undefined ? {} : { packSize: request.packSize }),
    ...(request.tolerate === undefined ? {} : { tolerate: request.tolerate }),
    ...(request.packLimitMs === undefined ? {} : { packLimitMs: request.packLimitMs }),
    ...(request.attempts === undefined ? {} : { attempts: request.attempts }),
    ...(request.deadline === undefined ? {} : { deadline: request.deadline }),
    requestHash: request.requestHash,
  };
  return inPlaces(client, () =>
    client.storage.blobs.create(client.names.runs, specBlob(id), JSON.stringify(spec), {
      contentType: "application/json",
    }),
  );
}

/** False where the place is taken by a deletion. */
async function placeMarker(
  client: Client,
  request: CheckedRequest,
  id: string,
  uid: string,
): Promise<boolean> {
  const metadata = encodeMarker({ uid, want: "run", generation: 1, cap: request.cap, turn: 0, command: 0 });
  const created = await inPlaces(client, () =>
    client.storage.blobs.create(client.names.active, id, "", { metadata }),
  );
  if (created.kind === "created") return true;
  const marker = (await readMarker(client, id))?.value;
  return marker?.uid === uid && marker.want !== "delete";
}

const isBeingDeleted = async (client: Client, id: string): Promise<boolean> =>
  (await readMarker(client, id))?.value.want === "delete";

/** A state that does not decode counts as unfinished: its marker is harmless, and the leader says what is wrong. */
async function isFinished(client: Client, id: string, uid: string): Promise<boolean> {
  const state = await unlessUnreadable(() => readState(client, id, uid), { newer: true });
  return state !== undefined && isFinal(state.value.phase);
}

const drawId = (client: Client, { calculation }: CheckedRequest): string =>
  newRunId(calculation.name, client.clock.wallMs(), client.random);

const idTaken = (id: string): InputError =>
  new InputError("conflict", "id-taken", `id: ${id} is the id of a run with another request`, {
    field: "id",
  });

const beingDeleted = (id: string): InputError =>
  new InputError(
    "conflict",
    "being-deleted",
    `id: an older run ${id} is still being deleted; try again shortly`,
    {
      field: "id",
    },
  );

/**
 * Asks for a tick now and once more a little later, because the first wake may meet a leader that is just
 * leaving. False if the queue could not be reached: what was written stands, and the next timer tick sees it, so
 * a missing wake is a delay and never an error.
 */
export async function sendWakes(client: Client, from: string): Promise<boolean> {
  const send = (options: { visibleInS?: number }): Promise<unknown> =>
    inPlaces(client, () => client.storage.queues.send(client.names.wake, encodeWake(from), options));
  try {
    await send({});
    await send({ visibleInS: limits.secondWakeS });
    return true;
  } catch (error) {
    if (error instanceof StorageError) return false;
    throw error;
  }
}
