import { idSchema } from "../../model/decode.ts";
import { OtherVersionError, StorageError } from "../../model/errors.ts";
import { logEvents } from "../../model/log.ts";
import { decodeMarker } from "../../model/marker.ts";
import { runIdPattern, scheduleBlobs } from "../../model/names.ts";
import { pagesOf } from "../../storage/callSteps.ts";
import type { ListedBlob } from "../../storage/ports.ts";
import { anyScheduleDue, type Listed } from "../keepSchedules.ts";
import type { CoordinatorPorts, ListedMarker, Term } from "../term.ts";

type MarkerPorts = Pick<CoordinatorPorts, "storage" | "names" | "log" | "told">;

const markerPages = ({ storage, names }: MarkerPorts, signal?: AbortSignal) =>
  pagesOf(storage.blobs, names.active, "", { metadata: true, signal });

/** True if a leader has something to do for any run or schedule: what makes a term worth claiming. */
export async function anyRunToLead(ports: MarkerPorts, signal?: AbortSignal): Promise<boolean> {
  const all: ListedBlob[] = [];
  let nowMs = 0;
  for await (const { blobs, dateMs } of markerPages(ports, signal)) {
    for (const blob of blobs) {
      const kind = kindOf(blob, dateMs);
      if (kind === "to-lead") return true;
      tellOnce(ports, blob, kind);
    }
    all.push(...blobs);
    nowMs = dateMs;
  }
  return anyScheduleDue(ports, { blobs: all, nowMs });
}

/**
 * What a blob among the markers is. Nobody leads for `rests`, for `other-version`, which another instance may read, and for
 * `stray`: without a run's id and uid nothing says whose marker it is, and a person has to check. Any other that does not
 * decode ends its run, which takes a leader.
 */
type MarkerKind = "to-lead" | "rests" | "other-version" | "stray" | "schedule";

export function kindOf({ name, metadata }: Pick<ListedBlob, "name" | "metadata">, nowMs: number): MarkerKind {
  if (name.startsWith(scheduleBlobs)) return "schedule";
  if (!runIdPattern.test(name)) return "stray";
  try {
    const { want, command, rests, until } = decodeMarker(metadata, name);
    const isOver = until !== undefined && nowMs > until;
    return rests === command && (want === "paused" || want === "run") && !isOver ? "rests" : "to-lead";
  } catch (error) {
    if (error instanceof OtherVersionError) return "other-version";
    return idSchema.safeParse(metadata["uid"]).success ? "to-lead" : "stray";
  }
}

/**
 * Lists the markers of runs that want a leader. Storage that is busy for a while costs a loop, not the term; the lease decides
 * about the term.
 */
export async function listMarkers(term: Term): Promise<
  | {
      readonly markers: readonly ListedMarker[];
      readonly pages: number;
      /** Schedules too, and those that nobody leads. */
      readonly all: Listed;
    }
  | "unreachable"
> {
  const { clock, leader } = term;
  const found: ListedBlob[] = [];
  const all: ListedBlob[] = [];
  let [nowMs, pages] = [0, 0];
  try {
    leader.assertLeading();
    for await (const page of markerPages(term, leader.lost)) {
      leader.assertLeading();
      for (const blob of page.blobs) {
        const kind = kindOf(blob, page.dateMs);
        if (kind === "to-lead") found.push(blob);
        else tellOnce(term, blob, kind);
      }
      all.push(...page.blobs);
      nowMs = page.dateMs;
      pages += 1;
    }
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== "busy") throw error;
    if (term.backoff.add({ id: "*", etag: "" }, clock.monotonicMs()))
      term.log(logEvents.runSkipped({ run: "*", uid: "", code: error.storageCode, message: error.message }));
    await clock.sleep(1_000, leader.signal);
    return "unreachable";
  }
  const listed = ({ name, etag, metadata, lastModifiedMs }: ListedBlob): ListedMarker => ({
    id: name,
    etag,
    metadata,
    nowMs,
    writtenMs: lastModifiedMs,
  });
  return { markers: found.map(listed), pages, all: { blobs: all, nowMs } };
}

/** Each process tells of a marker once. */
function tellOnce({ log, told }: MarkerPorts, { name: whole, metadata }: ListedBlob, kind: MarkerKind): void {
  const name = whole.slice(0, 80);
  if (kind === "rests" || kind === "schedule" || told.has(name)) return;
  told.add(name);
  if (kind === "stray") log(logEvents.strayMarker({ name }));
  else
    log(
      logEvents.needsOtherVersion({
        run: name,
        uid: metadata["uid"] ?? "",
        message: `its marker has version ${metadata["v"]}`,
      }),
    );
}
