import { decodeJson } from "../../model/decode.ts";
import { CorruptDataError, NewerVersionError } from "../../model/errors.ts";
import { limits } from "../../model/limits.ts";
import { logEvents } from "../../model/log.ts";
import { encodeMarker } from "../../model/marker.ts";
import { droppedBlobs, expiryBlob, resultBlobs, runBlobs, specBlob } from "../../model/names.ts";
import { manifestSchema, type Spec, specSchema } from "../../model/run.ts";
import { isFinal, type State, stateSchema } from "../../model/state.ts";
import type { BlobStore } from "../../storage/ports.ts";
import type { CoordinatorPorts } from "../perform.ts";
import type { Ownership } from "../stateChain.ts";
import { deleteUnder } from "./deleteRun.ts";
import { foldersOn, type UidFolder, worthALook } from "./sweep.ts";

/**
 * Deletes finished runs once they are old, and what late workers left behind. It works in slices, at the end of a
 * term and once a day on an idle tick, and remembers in this process where it was.
 *
 * An old run is not deleted here: its marker is made to say `delete`, create-only, so that it meets a retry of the
 * same moment like any other command; the leader then does the rest.
 */
export interface Expiry {
  /** True if a sweep is under way here, or none was finished anywhere for a day. */
  due(signal?: AbortSignal): Promise<boolean>;
  slice(owner: Ownership): Promise<void>;
}

export function expiry(
  ports: Pick<CoordinatorPorts, "storage" | "names" | "clock" | "log" | "packLimitMs">,
  keepDays: number,
): Expiry {
  const { storage, names, clock } = ports;
  const { blobs } = storage;
  const places = [names.runs, names.results];
  let at: { place: number; cursor: string | undefined; open: UidFolder | undefined } | undefined;
  let askAgainMs = Number.NEGATIVE_INFINITY;

  return {
    async due(signal) {
      if (keepDays === 0) return false;
      if (at !== undefined) return true;
      if (clock.monotonicMs() < askAgainMs) return false;
      const found = await blobs.head(names.runs, expiryBlob, { signal });
      const ageMs =
        found.kind === "missing" ? limits.expiryEveryMs : found.dateMs - found.properties.lastModifiedMs;
      askAgainMs = clock.monotonicMs() + Math.max(0, limits.expiryEveryMs - ageMs);
      return ageMs >= limits.expiryEveryMs;
    },

    async slice(owner) {
      const budget = { left: limits.expiryPagesMax };
      const told = { expired: 0, orphans: 0 };
      at ??= { place: 0, cursor: undefined, open: undefined };
      while (at.place < places.length && budget.left > 0 && told.expired < limits.expiriesMax) {
        owner.assertLeading();
        const container = places[at.place] as string;
        const page = await blobs.list(container, "", { cursor: at.cursor, signal: owner.lost });
        budget.left -= 1;
        const rules = {
          nowMs: page.dateMs,
          keepMs: keepDays * 86_400_000,
          quietMs: limits.hostHidesMs + ports.packLimitMs + limits.lateWritersMs,
        };
        const { ended, open } = foldersOn(page.blobs, at.open);
        const last = page.cursor === undefined;
        for (const folder of last && open !== undefined ? [...ended, open] : ended) {
          const why = worthALook(folder, rules);
          if (why.expired || why.quiet) await lookCloser(ports, owner, folder, why, told);
        }
        await dropOldRecords(ports, owner, page.blobs, rules);
        at = last
          ? { place: at.place + 1, cursor: undefined, open: undefined }
          : { ...at, cursor: page.cursor, open };
      }
      const whole = at.place >= places.length;
      if (whole) await stamp(blobs, names.runs, owner);
      ports.log(logEvents.expirySwept({ ...told, whole }));
      if (whole) at = undefined;
    },
  };
}

async function lookCloser(
  ports: Pick<CoordinatorPorts, "storage" | "names">,
  owner: Ownership,
  folder: UidFolder,
  why: { readonly expired: boolean; readonly quiet: boolean },
  told: { expired: number; orphans: number },
): Promise<void> {
  const { blobs } = ports.storage;
  const { id, uid } = folder;
  const { runs, results, active } = ports.names;
  const { signal } = { signal: owner.lost };
  const spec = await readOr<Spec>(blobs, runs, specBlob(id), signal, (body, name) =>
    decodeJson(specSchema, body, name),
  );
  if (spec === "unreadable") return;
  if (spec?.uid !== uid) {
    if (!why.quiet) return;
    told.orphans += 1;
    const budget = { left: limits.expiryPagesMax };
    await deleteUnder(ports, owner, runs, runBlobs(id, uid).root, budget);
    await deleteUnder(ports, owner, results, resultBlobs(id, uid).root, budget);
    return;
  }
  const state = await readOr<State>(blobs, runs, runBlobs(id, uid).state, signal, (body, name) =>
    decodeJson(stateSchema, body, name),
  );
  if (state === undefined || state === "unreadable" || !isFinal(state.phase)) return;
  if (why.expired) {
    owner.assertLeading();
    const { generation, cap, turn, command } = state;
    const marker = { uid, want: "delete", generation, cap, turn, command: command + 1 } as const;
    const created = await blobs.create(active, id, "", { metadata: encodeMarker(marker), signal });
    if (created.kind === "created") told.expired += 1;
    return;
  }
  if (!folder.hasParts || state.phase !== "complete") return;
  const manifest = await readOr(
    blobs,
    results,
    resultBlobs(id, uid).manifest(state.generation),
    signal,
    (body, name) => decodeJson(manifestSchema, body, name),
  );
  if (manifest === undefined || manifest === "unreadable" || !manifest.complete) return;
  const budget = { left: limits.expiryPagesMax };
  await deleteUnder(ports, owner, runs, runBlobs(id, uid).parts, budget);
  await deleteUnder(ports, owner, runs, runBlobs(id, uid).nodes, budget);
}

async function readOr<T>(
  blobs: BlobStore,
  container: string,
  name: string,
  signal: AbortSignal,
  decode: (body: Uint8Array, name: string) => T,
): Promise<T | undefined | "unreadable"> {
  const found = await blobs.read(container, name, { signal });
  if (found.kind === "missing") return undefined;
  try {
    return decode(found.body, name);
  } catch (error) {
    if (error instanceof CorruptDataError || error instanceof NewerVersionError) return "unreadable";
    throw error;
  }
}

/** Records of messages that nobody understood are kept as long as runs are. */
async function dropOldRecords(
  ports: Pick<CoordinatorPorts, "storage" | "names">,
  owner: Ownership,
  page: readonly { readonly name: string; readonly lastModifiedMs: number }[],
  { nowMs, keepMs }: { readonly nowMs: number; readonly keepMs: number },
): Promise<void> {
  const old = page.filter(
    ({ name, lastModifiedMs }) => name.startsWith(droppedBlobs) && nowMs - lastModifiedMs > keepMs,
  );
  if (old.length === 0) return;
  owner.assertLeading();
  await ports.storage.blobs.removeMany(
    ports.names.runs,
    old.map((blob) => blob.name),
    { signal: owner.lost },
  );
}

/** Its date says when the last sweep ended. */
async function stamp(blobs: BlobStore, container: string, owner: Ownership): Promise<void> {
  owner.assertLeading();
  const found = await blobs.head(container, expiryBlob, { signal: owner.lost });
  const write = { signal: owner.lost };
  if (found.kind === "missing") await blobs.create(container, expiryBlob, "", write);
  else await blobs.replace(container, expiryBlob, "", { ...write, ifMatch: found.properties.etag });
}
