import { expiry } from "../../src/engine/leader/deletion/expire.ts";
import { closedBlob } from "../../src/engine/model/closedRun.ts";
import { decodeMarker } from "../../src/engine/model/marker.ts";
import { specBlob } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { computing, planOf } from "../support/runFixtures.ts";
import type { leadInMemory } from "./leadInMemory.ts";

/** Runs that have ended, with their summaries, on in-memory storage, and sweeps over them. */
export const dayMs = 86_400_000;
export const ended = (phase: State["phase"]): State => ({ ...computing(10), phase, finishedMs: 1 });

export async function unmarked(account: ReturnType<typeof leadInMemory>, id: string, state: State) {
  await account.addRun(id, planOf(10), { state });
  const { storage, names } = account;
  await storage.blobs.remove(names.active, id);
  const spec = await storage.blobs.head(names.runs, specBlob(id));
  if (spec.kind === "missing") throw new Error("no spec");
  await storage.blobs.create(names.runs, closedBlob(id, spec.properties.lastModifiedMs), "");
}

export async function sweepAll(
  account: ReturnType<typeof leadInMemory>,
  sweep = expiry(account.ports, 30),
): Promise<number> {
  let slices = 0;
  do {
    await sweep.slice(account.leader);
    slices += 1;
  } while (await sweep.due(account.leader));
  return slices;
}

export const wantOf = async (account: ReturnType<typeof leadInMemory>, id: string) => {
  const found = await account.storage.blobs.head(account.names.active, id);
  return found.kind === "missing" ? "none" : decodeMarker(found.properties.metadata, id).want;
};
