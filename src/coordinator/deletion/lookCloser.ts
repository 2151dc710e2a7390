import type * as z from "zod";
import { decodeJson } from "../../model/decode.ts";
import { CorruptDataError, NewerVersionError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { encodeMarker, type Marker } from "../../model/marker.ts";
import { manifestSchema, specSchema } from "../../model/run.ts";
import { resultBlobs, runBlobs, specBlob } from "../../model/runBlobs.ts";
import { isFinal, stateSchema } from "../../model/state.ts";
import type { CoordinatorPorts } from "../perform/perform.ts";
import type { Ownership } from "../perform/stateChain.ts";
import { deleteUnder } from "./deleteRun.ts";
import type { SweepRules, UidFolder, Why } from "./sweep.ts";

type Ports = Pick<CoordinatorPorts, "storage" | "names">;
export type Found = "kept" | "expired" | "orphan";

/**
 * Reads what belongs to a folder and does what its age calls for. The list is minutes or terms old by now: the age
 * is judged again on the state as it is read here.
 */
export async function lookCloser(
  ports: Ports,
  owner: Ownership,
  folder: UidFolder,
  why: Why,
  { keepMs }: Pick<SweepRules, "keepMs">,
): Promise<Found> {
  const { runs, results } = ports.names;
  const { id, uid } = folder;
  const { root } = runBlobs(id, uid);
  const spec = await readDocument(ports, owner, runs, specBlob(id), specSchema);
  if (spec === "unreadable") return "kept";
  if (spec?.value.uid !== uid) {
    if (!why.quiet) return "kept";
    await deleteAll(ports, owner, runs, root);
    await deleteAll(ports, owner, results, resultBlobs(id, uid).root);
    return "orphan";
  }
  if (!why.expired && !folder.hasParts) return "kept";
  const state = await readDocument(ports, owner, runs, runBlobs(id, uid).state, stateSchema);
  if (state === undefined || state === "unreadable" || !isFinal(state.value.phase)) return "kept";
  if (state.ageMs > keepMs) return askToDelete(ports, owner, id, { ...state.value, judged: state.etag });
  if (state.value.phase !== "complete" || !folder.hasParts) return "kept";
  const name = resultBlobs(id, uid).manifest(state.value.generation);
  const manifest = await readDocument(ports, owner, results, name, manifestSchema);
  if (manifest === undefined || manifest === "unreadable" || !manifest.value.complete) return "kept";
  const { parts, nodes, outputsBefore } = runBlobs(id, uid, state.value.origin);
  for (const prefix of [parts, nodes, ...outputsBefore]) await deleteAll(ports, owner, runs, prefix);
  return "orphan";
}

/** A spec without anything else, whose submit broke off long ago. */
export async function lookAtSpec(
  ports: Ports,
  owner: Ownership,
  id: string,
  { keepMs }: Pick<SweepRules, "keepMs">,
): Promise<Found> {
  const { runs } = ports.names;
  const spec = await readDocument(ports, owner, runs, specBlob(id), specSchema);
  if (spec === undefined || spec === "unreadable" || spec.ageMs <= keepMs) return "kept";
  const { uid } = spec.value;
  const state = await ports.storage.blobs.head(runs, runBlobs(id, uid).state, { signal: owner.lost });
  if (state.kind === "found") return "kept";
  return askToDelete(ports, owner, id, { uid, generation: 1, cap: 1, turn: 0, command: 0 });
}

/** Create-only, so that it meets a retry or a submit of the same moment like any other command. */
async function askToDelete(
  ports: Ports,
  owner: Ownership,
  id: string,
  { uid, generation, cap, turn, command, judged }: Omit<Marker, "want" | "by" | "keep" | "rests">,
): Promise<Found> {
  owner.assertLeading();
  const own = { uid, generation, cap, turn, command: command + 1, judged };
  const metadata = encodeMarker({ ...own, want: "delete", by: "expiry" });
  const { active } = ports.names;
  const created = await ports.storage.blobs.create(active, id, "", { metadata, signal: owner.lost });
  return created.kind === "created" ? "expired" : "kept";
}

interface Document<T> {
  readonly value: T;
  readonly etag: string;
  /** Since it was last written, by storage's clock. */
  readonly ageMs: number;
}

async function readDocument<T>(
  { storage }: Ports,
  owner: Ownership,
  container: string,
  name: string,
  schema: z.ZodType<T>,
): Promise<Document<T> | undefined | "unreadable"> {
  const found = await storage.blobs.read(container, name, { signal: owner.lost });
  if (found.kind === "missing") return undefined;
  const { etag, lastModifiedMs } = found.properties;
  try {
    return { value: decodeJson(schema, found.body, name), etag, ageMs: found.dateMs - lastModifiedMs };
  } catch (error) {
    if (error instanceof CorruptDataError || error instanceof NewerVersionError) return "unreadable";
    throw error;
  }
}

/** What is left behind is little; should it be very much, the next sweep goes on with it. */
async function deleteAll(ports: Ports, owner: Ownership, container: string, prefix: string): Promise<void> {
  const budget = { left: limits.pagesPerLoopMax };
  while (budget.left > 0) if (await deleteUnder(ports, owner, container, prefix, budget)) return;
}
