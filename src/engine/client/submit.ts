import * as z from "zod";
import { canonicalJson, unlessUnreadable } from "../model/decode.ts";
import { InputError, StorageError } from "../model/errors.ts";
import { type Tags, tagsSchema } from "../model/labels.ts";
import { limits } from "../model/limits.ts";
import { encodeMarker, type Marker } from "../model/marker.ts";
import { encodeWake } from "../model/message.ts";
import type { Spec } from "../model/run.ts";
import { specBlob } from "../model/runBlobs.ts";
import { isFinal, phases, type State } from "../model/state.ts";
import { documentHash } from "../model/storedSpec.ts";
import { versions } from "../model/versions.ts";
import { type Client, clientLimits, defined } from "./client.ts";
import { markerBy } from "./commands/decideCommand.ts";
import { ensuringContainers } from "./containersAndQueues.ts";
import { findReuse } from "./findReuse.ts";
import { toldPackLimitMs } from "./leader.ts";
import { headMarker, type RunKey, readMarker, readSpec, readState } from "./runDocuments.ts";
import {
  type CheckedRequest,
  checkRequest,
  differencesOf,
  newRunId,
  newUid,
  type RunRequest,
} from "./runRequest.ts";
import { runKey } from "./viewSchemas.ts";

export const submittedSchema = z
  .object({
    ...runKey,
    created: z.boolean().describe("False if a run of this id and with the same request existed."),
    phase: z
      .enum(["waiting", ...phases])
      .describe(
        "Of a run that existed. One that failed or was cancelled is not begun again: that is a retry.",
      )
      .exactOptional(),
    woken: z
      .boolean()
      .describe(
        "False if the wake queue could not be reached: the run then starts with the next timer tick.",
      ),
    cap: z
      .int()
      .describe(
        "Packs in flight at most, which may differ from the request if the run existed; absent once the run has ended.",
      )
      .exactOptional(),
    maxCost: z
      .number()
      .describe("Dollars at most, likewise; absent where the request and the run name none.")
      .exactOptional(),
    packLimitMs: z
      .int()
      .describe(
        "Time limit of one attempt: of the request, or of the app if that is less. Absent if either is not known.",
      )
      .exactOptional(),
    tags: tagsSchema.describe("Of a run that existed those of its first submit.").exactOptional(),
  })
  .meta({ id: "Submitted" });
export type Submitted = z.infer<typeof submittedSchema>;

/**
 * Submits a run: spec create-only, then marker create-only, then two wakes. Any number of submits of the same id
 * and request, at once or after a crash between two of these writes, make one run.
 *
 * Throws `InputError`: `invalid` for bad input; `conflict` `id-taken` if another request has the id, and `being-deleted`
 * if an older run of this id is still being deleted. Throws as `findReuse` for what it asks to reuse.
 */
export const submit = async (client: Client, request: RunRequest): Promise<Submitted> =>
  await submitChecked(client, checkRequest(request, client.calculations));

/** As `submit`, of a request whose parameters were checked. */
export async function submitChecked(client: Client, asked: CheckedRequest): Promise<Submitted> {
  const checked = { ...asked, reuse: await reuseFor(client, asked) };
  const deadlineMs = client.clock.monotonicMs() + clientLimits.deletionWaitMs;
  const drawn = new Set<string>();
  let run = checked.id ?? drawId(client, checked);
  let askedToDelete = false;
  for (;;) {
    // Each try draws a new uid: a run with the spec of an earlier try may have been computed and deleted meanwhile.
    const uid = newUid(client.random);
    drawn.add(uid);
    const tried = await trySubmit(client, checked, { run, uid }, drawn);
    if (tried.kind === "accepted") {
      const woken = tried.final || (await sendWakes(client, "submit"));
      const { packLimitMs: askedMs } = checked;
      const toldMs = askedMs === undefined ? undefined : await toldPackLimitMs(client);
      const packLimitMs =
        askedMs === undefined || toldMs === undefined ? undefined : Math.min(askedMs, toldMs);
      const { phase, bounds, tags } = tried;
      const holding = defined({ phase, ...bounds, packLimitMs, tags });
      return { run, uid: tried.uid, created: drawn.has(tried.uid), woken, ...holding };
    }
    if (tried.kind === "taken") {
      if (checked.id !== undefined) {
        const told = differencesOf(tried.spec, checked);
        const no =
          told.length === 0 ? ["its spec is not what this submit writes, and nobody has begun it"] : told;
        throw conflict("id-taken", `${run} is the id of a run with another request; ${no.join("; ")}`);
      }
      run = drawId(client, checked);
      continue;
    }
    if (client.clock.monotonicMs() >= deadlineMs)
      throw conflict("being-deleted", `an older run ${run} is still being deleted; try again shortly`);
    // Only a leader ends a deletion, and none may be awake.
    if (!askedToDelete) await sendWakes(client, "submit");
    askedToDelete = true;
    await client.clock.sleep(clientLimits.deletionPollMs);
  }
}

/** What is asked for has to be there for a new run only: a repeated submit may come when it is deleted. */
async function reuseFor(client: Client, asked: CheckedRequest): Promise<Spec["reuse"]> {
  try {
    return await findReuse(client, asked);
  } catch (error) {
    const there = asked.id === undefined ? undefined : (await readSpec(client, asked.id))?.value;
    const isThere = there?.requestHash === asked.requestHash && there.reuse?.run === asked.reuse;
    if (!(error instanceof InputError) || !isThere) throw error;
    return there.reuse;
  }
}

type Tried =
  | {
      readonly kind: "accepted";
      readonly uid: string;
      readonly final: boolean;
      readonly phase: Submitted["phase"];
      readonly bounds?: Bounds | undefined;
      readonly tags: Tags | undefined;
    }
  /** Another request has this id. */
  | { readonly kind: "taken"; readonly spec: Spec }
  /** An older run of this id is being deleted, or was deleted between two of these calls. */
  | { readonly kind: "deleting" };

/** A request of which is known what it reuses. */
type Request = Omit<CheckedRequest, "reuse"> & Pick<Spec, "reuse">;

async function trySubmit(
  client: Client,
  request: Request,
  { run, uid }: RunKey,
  drawn: ReadonlySet<string>,
): Promise<Tried> {
  const created = await createSpec(client, request, { run, uid });
  let owner = uid;
  let { sha256 } = created;
  let { tags } = request;
  let state: State | undefined;
  let phase: Submitted["phase"];
  if (created.kind === "existed") {
    const found = await readSpec(client, run);
    if (found === undefined) return { kind: "deleting" };
    const spec = found.value;
    owner = spec.uid;
    sha256 = found.sha256;
    ({ tags } = spec);
    const ours = drawn.has(owner);
    if (!ours && request.id === undefined) return { kind: "taken", spec };
    // One that does not decode counts as none: a marker is harmless, and the leader reports the error.
    const read = () => readState(client, run, owner);
    state = ours ? undefined : (await unlessUnreadable(read))?.value;
    const marker = ours || state !== undefined ? undefined : await headMarker(client, run);
    // Nobody has begun it, so this call would. Also one of an earlier try of this call may have been replaced since.
    const begins = ours || (state === undefined && marker?.kind === "missing");
    const differs = begins
      ? !isWritten(spec, specOf(client, request, { run, uid: owner }), ours)
      : spec.requestHash !== request.requestHash;
    if (differs) return (await isBeingDeleted(client, run)) ? { kind: "deleting" } : { kind: "taken", spec };
    phase = ours ? undefined : (state?.phase ?? "waiting");
  }
  const final = state !== undefined && isFinal(state.phase);
  // A finished run needs no marker, but it must not be in deletion.
  const key = { run, uid: owner };
  const { cap, maxCost: dollars } = state ?? request;
  const marker = { ...markerBy(owner, state), spec: sha256, cap, dollars };
  const bounds = final ? undefined : await createMarker(client, key, marker);
  if (final ? await isBeingDeleted(client, run) : bounds === undefined) return { kind: "deleting" };
  // A deletion may have run between the calls for the spec and for the marker. It removes the spec first and the marker
  // last, so it can no longer reach a spec that still exists after the marker.
  const now = (await readSpec(client, run))?.value.uid;
  return now === owner ? { kind: "accepted", uid: owner, final, phase, bounds, tags } : { kind: "deleting" };
}

function specOf(client: Client, request: Request, { run, uid }: RunKey): Spec {
  const { calculation, id: _id, cap: _cap, maxCost: _maxCost, acceptCode: _accept, ...work } = request;
  return { v: versions.spec, run, uid, calculation: calculation.name, ...work, by: client.actor };
}

/** Whether a spec is all of what this call writes; of another call it may have other tags and another name of who submitted. */
function isWritten(found: Spec, written: Spec, ours: boolean): boolean {
  const { tags, by } = ours ? written : found;
  return canonicalJson(found) === canonicalJson({ ...written, tags, by });
}

async function createSpec(client: Client, request: Request, key: RunKey) {
  const { run } = key;
  // JSON leaves out what is undefined.
  const body = JSON.stringify(specOf(client, request, key));
  const options = { contentType: "application/json" };
  const created = await ensuringContainers(client, () =>
    client.storage.blobs.create(client.names.runs, specBlob(run), body, options),
  );
  return { kind: created.kind, sha256: documentHash(body) };
}

/** What holds beside the request. */
type Bounds = Pick<CheckedRequest, "cap" | "maxCost">;

/**
 * The bounds that hold: of an existing marker those of its last change. Undefined if a deletion has the marker of this id. A run
 * that is at work and has lost its marker gets one that says what its state has seen.
 */
async function createMarker(
  client: Client,
  { run, uid }: RunKey,
  asked: Marker,
): Promise<Bounds | undefined> {
  const metadata = encodeMarker(asked);
  const created = await ensuringContainers(client, () =>
    client.storage.blobs.create(client.names.active, run, "", { metadata }),
  );
  const marker = created.kind === "created" ? asked : (await readMarker(client, run))?.value;
  if (marker?.uid !== uid || marker.want === "delete") return undefined;
  return { cap: marker.cap, maxCost: marker.dollars };
}

const isBeingDeleted = async (client: Client, id: string): Promise<boolean> =>
  (await readMarker(client, id))?.value.want === "delete";

const drawId = (client: Client, { calculation }: Request): string =>
  newRunId(calculation.name, client.clock.wallMs(), client.random);

const conflict = (code: string, rule: string): InputError =>
  new InputError("conflict", code, `id: ${rule}`, { field: "id" });

/**
 * Asks for a tick now and once more a little later, because the first wake may meet a leader that is just stepping down.
 * False if the queue could not be reached: the next timer tick then sees what was written, so this is never an error.
 */
export async function sendWakes(client: Client, from: string): Promise<boolean> {
  // If that leader dies or leaves now, the wake that it keeps for this case stands in.
  if (client.pollNow?.() === true) return true;
  const send = (options: { visibleInS?: number }): Promise<unknown> =>
    ensuringContainers(client, () =>
      client.storage.queues.send(client.names.wake, encodeWake(from), options),
    );
  try {
    await Promise.all([send({}), send({ visibleInS: limits.secondWakeS })]);
    return true;
  } catch (error) {
    if (error instanceof StorageError) return false;
    throw error;
  }
}
