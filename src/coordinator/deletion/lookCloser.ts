import { decodeJson } from "../../model/decode.ts";
import { CorruptDataError, NewerVersionError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { encodeMarker } from "../../model/marker.ts";
import { resultBlobs, runBlobs, specBlob } from "../../model/names.ts";
import { manifestSchema, specSchema } from "../../model/run.ts";
import { isFinal, stateSchema } from "../../model/state.ts";
import type { CoordinatorPorts } from "../perform.ts";
import type { Ownership } from "../stateChain.ts";
import { deleteUnder } from "./deleteRun.ts";
import type { UidFolder } from "./sweep.ts";

type Ports = Pick<CoordinatorPorts, "storage" | "names">;
export type Found = "kept" | "expired" | "orphan";

/** Reads what belongs to a folder and does what its age calls for. */
export async function lookCloser(
  ports: Ports,
  owner: Ownership,
  folder: UidFolder,
  why: { readonly expired: boolean; readonly quiet: boolean },
): Promise<Found> {
  const { runs, results } = ports.names;
  const { id, uid } = folder;
  const { parts, nodes, root } = runBlobs(id, uid);
  const spec = await readDocument(ports, owner, runs, specBlob(id), (body, name) =>
    decodeJson(specSchema, body, name),
  );
  if (spec === "unreadable") return "kept";
  if (spec?.uid !== uid) {
    if (!why.quiet) return "kept";
    await deleteAll(ports, owner, runs, root);
    await deleteAll(ports, owner, results, resultBlobs(id, uid).root);
    return "orphan";
  }
  if (!why.expired && !folder.hasParts) return "kept";
  const state = await readState(ports, owner, id, uid);
  if (state === undefined || state === "unreadable" || !isFinal(state.phase)) return "kept";
  if (why.expired) return askToDelete(ports, owner, id, state);
  if (state.phase !== "complete") return "kept";
  const name = resultBlobs(id, uid).manifest(state.generation);
  const manifest = await readDocument(ports, owner, results, name, (body) =>
    decodeJson(manifestSchema, body, name),
  );
  if (manifest === undefined || manifest === "unreadable" || !manifest.complete) return "kept";
  await deleteAll(ports, owner, runs, parts);
  await deleteAll(ports, owner, runs, nodes);
  return "orphan";
}

/** A spec without anything else, whose submit broke off long ago. */
export async function lookAtSpec(ports: Ports, owner: Ownership, id: string): Promise<Found> {
  const spec = await readDocument(ports, owner, ports.names.runs, specBlob(id), (body, name) =>
    decodeJson(specSchema, body, name),
  );
  if (spec === undefined || spec === "unreadable") return "kept";
  const { uid } = spec;
  if ((await readState(ports, owner, id, uid)) !== undefined) return "kept";
  return askToDelete(ports, owner, id, { uid, generation: 1, cap: 1, turn: 0, command: 0 });
}

/** Create-only, so that it meets a retry or a submit of the same moment like any other command. */
async function askToDelete(
  ports: Ports,
  owner: Ownership,
  id: string,
  {
    uid,
    generation,
    cap,
    turn,
    command,
  }: { readonly uid: string } & Record<"generation" | "cap" | "turn" | "command", number>,
): Promise<Found> {
  owner.assertLeading();
  const marker = { uid, want: "delete", generation, cap, turn, command: command + 1, by: "expiry" } as const;
  const write = { metadata: encodeMarker(marker), signal: owner.lost };
  const created = await ports.storage.blobs.create(ports.names.active, id, "", write);
  return created.kind === "created" ? "expired" : "kept";
}

const readState = (ports: Ports, owner: Ownership, id: string, uid: string) =>
  readDocument(ports, owner, ports.names.runs, runBlobs(id, uid).state, (body, name) =>
    decodeJson(stateSchema, body, name),
  );

async function readDocument<T>(
  { storage }: Ports,
  owner: Ownership,
  container: string,
  name: string,
  decode: (body: Uint8Array, name: string) => T,
): Promise<T | undefined | "unreadable"> {
  const found = await storage.blobs.read(container, name, { signal: owner.lost });
  if (found.kind === "missing") return undefined;
  try {
    return decode(found.body, name);
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
