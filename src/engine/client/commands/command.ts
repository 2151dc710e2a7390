import * as z from "zod";
import { idSchema, parseJson, unlessCorrupt, unlessUnreadable } from "../../model/decode.ts";
import { StorageError } from "../../model/errors.ts";
import { identityHere } from "../../model/identity.ts";
import { decodeMarker, encodeMarker, type Marker, wantSchema } from "../../model/marker.ts";
import { parseRunId } from "../../model/names.ts";
import { specBlob } from "../../model/runBlobs.ts";
import { isFinal } from "../../model/state.ts";
import { type Client, clientLimits, defined } from "../client.ts";
import { ensuringContainers } from "../containersAndQueues.ts";
import {
  headMarker,
  readBlob,
  readManifest,
  readMarker,
  readSpec,
  readState,
  uidsOf,
  uidWithoutSpec,
} from "../runDocuments.ts";
import { checkCap, checkMaxCost, newUid } from "../runRequest.ts";
import { sendWakes } from "../submit.ts";
import { count, generation, runKey } from "../viewSchemas.ts";
import { beingDeleted, type Change, type CommandFacts, decideCommand } from "./decideCommand.ts";

export const commandedSchema = z
  .object({
    ...runKey,
    kind: z.enum(["pause", "resume", "cancel", "cap", "retry", "delete"]),
    command: count.describe(
      "The number of the command, which the status answers. 0 if there never was a command.",
    ),
    changed: z
      .boolean()
      .describe("False if an earlier command asked for the same; then `command` is the last one."),
    want: wantSchema,
    keep: z.boolean().describe("With `cancelled`: the run finishes with what is done."),
    generation,
    cap: z.int().positive(),
    maxCost: z.number().positive().exactOptional(),
    woken: z
      .boolean()
      .describe(
        "False if the wake queue could not be reached: a leader sees the command with its next poll.",
      ),
  })
  .meta({ id: "Commanded" });
export type Commanded = z.infer<typeof commandedSchema>;

/**
 * Writes to the marker what is wanted of a run: pause, resume, cancel, cap, retry or delete. It takes effect when a
 * leader reads it. A command that asks for what is already wanted is accepted without a write.
 *
 * Throws `InputError`: `unknown-run`; `bad-cap`; `bad-max-cost`; and `conflict` with `too-late` for a run that has ended,
 * `not-accepted` for a run without a marker, `not-allowed` by the table of moves, `being-deleted`,
 * `nothing-to-retry` for a complete run, `still-working` for the retry of one that has not ended, `other-code` for
 * a run that was computed by other code than the instances have, `inputs-changed` for one whose files were
 * changed, and `plan-lost` for one whose plan is gone.
 */
export async function command(client: Client, id: string, change: Change): Promise<Commanded> {
  parseRunId(id);
  if (change.kind === "cap") {
    checkCap(change.cap);
    checkMaxCost(change.maxCost);
  }
  let deleting = false;
  for (let tried = 0; tried < clientLimits.markerTries; tried += 1) {
    const facts =
      change.kind === "delete"
        ? await readDeletionFacts(client, id)
        : await readCommandFacts(client, id, change.kind === "retry");
    const decision = decideCommand(id, change, facts);
    deleting = decision.kind === "deleting";
    if (decision.kind !== "deleting") {
      const changed = decision.kind === "write";
      if (
        !changed ||
        (await writeMarker(client, id, { ...decision.marker, who: client.actor }, facts.markerEtag))
      ) {
        const { uid, command, want, generation, cap, dollars: maxCost } = decision.marker;
        const keep = decision.marker.keep === "1";
        // An unchanged marker is woken for too: its writer may have crashed before its wakes.
        const woken = await sendWakes(client, change.kind);
        const bounds = { cap, ...defined({ maxCost }) };
        const given = { run: id, uid, kind: change.kind, command, changed };
        return { ...given, want, keep, generation, ...bounds, woken };
      }
    }
    await client.clock.sleep(client.random.number() * clientLimits.markerRetryMs);
  }
  if (deleting) throw beingDeleted(id);
  throw new StorageError("busy", "", undefined, `too many commands for ${id} at once; try again`);
}

/** False if another write came first, or an earlier try of this one whose reply was lost. */
async function writeMarker(client: Client, id: string, marker: Marker, ifMatch: string | undefined) {
  const { blobs } = client.storage;
  const { active } = client.names;
  const metadata = encodeMarker(marker);
  if (ifMatch !== undefined)
    return (await blobs.setMetadata(active, id, metadata, { ifMatch })).kind === "replaced";
  const created = await ensuringContainers(client, () => blobs.create(active, id, "", { metadata }));
  return created.kind === "created";
}

/**
 * Reads the facts of every command but a deletion. The marker is read first: the command is written on its ETag, so it
 * is decided anew if the marker changes meanwhile.
 */
async function readCommandFacts(client: Client, id: string, retry: boolean): Promise<CommandFacts> {
  const marker = await readMarker(client, id);
  const spec = await readSpec(client, id);
  const uid = spec?.value.uid ?? marker?.value.uid ?? "";
  const state = spec === undefined ? undefined : (await readState(client, id, uid))?.value;
  const facts = { uid, hasSpec: spec !== undefined, marker: marker?.value, markerEtag: marker?.etag, state };
  if (!retry || spec === undefined || state === undefined || !isFinal(state.phase)) return facts;
  // An unreadable manifest is no result, and a retry makes a new one.
  const read = () => readManifest(client, state, state.generation);
  const code = identityHere(client.calculations, spec.value.calculation);
  return { ...facts, code, manifest: await unlessCorrupt(read) };
}

/**
 * Reads the facts of a deletion, which are little more than the uid, so that a run with unreadable documents, or without a
 * spec, can be deleted. Without any uid only a spec is deleted. Throws
 * `OtherVersionError` for a marker of another version, which nobody may overwrite.
 */
async function readDeletionFacts(client: Client, id: string): Promise<CommandFacts> {
  const blob = await headMarker(client, id);
  const etag = blob.kind === "missing" ? undefined : blob.properties.etag;
  const metadata = blob.kind === "missing" ? {} : blob.properties.metadata;
  const decode = () => (etag === undefined ? undefined : decodeMarker(metadata, id));
  const marker = await unlessCorrupt(decode);
  const spec = await readBlob(client, client.names.runs, specBlob(id));
  const markerUid = idSchema.safeParse(metadata["uid"]).data;
  const hasSpec = spec.kind === "found";
  const uid = hasSpec
    ? (uidOf(spec.body) ?? markerUid ?? (await uidsOf(client, id))[0] ?? newUid(client.random))
    : (markerUid ?? (await uidWithoutSpec(client, id)) ?? "");
  const read = () => (uid === "" ? undefined : readState(client, id, uid));
  const state = await unlessUnreadable(read);
  return { uid, hasSpec, marker, markerEtag: etag, state: state?.value };
}

const uidSchema = z.object({ uid: idSchema });

/** The uid of a spec, also of one that is otherwise unreadable or of a newer version. */
function uidOf(spec: Uint8Array): string | undefined {
  try {
    return uidSchema.parse(parseJson(spec, "the spec")).uid;
  } catch {
    return undefined;
  }
}
