import { isFinal } from "../../../../src/engine/model/state.ts";
import type { Check, Scene } from "./judge.ts";
import { type Place, placeOf, type RunRecord } from "./ledger.ts";

const checker = "deleted only what is worthless";

/**
 * Partials and nodes are deleted after a complete manifest, where no run may reuse them, or when a marker has said `want: delete`; anything else of
 * a run only by the latter, first its blobs, then its spec, the marker last. That holds for a run without a spec too.
 * Otherwise a marker goes when its run has ended in the generation that was asked for last, or has nothing but it.
 */
export function onlyWorthlessIsDeleted({ ledger, report }: Scene): Check {
  function wrongWith(place: Exclude<Place, { kind: "other" }>): string | undefined {
    if (place.kind === "marker") {
      const run = ledger.current(place.id, "marker");
      return run === undefined ? undefined : wrongWithMarker(run);
    }
    if (place.kind === "spec") {
      const run = ledger.current(place.id, "spec");
      return run === undefined ? undefined : wrongWithSpec(run);
    }
    const run = ledger.record(place.id, place.uid);
    if (run.deleteAskedMs !== undefined) return undefined;
    if (isUnnamedResult(place, run)) return undefined;
    if (isKeptOfWhole(place, run)) return undefined;
    if (!/^(parts|nodes)\//.test(place.rest)) return "nobody asked for its deletion";
    if (run.spec?.keepPartials === true) return "a later run may reuse it";
    const complete = [...run.manifests.values()].some((manifest) => manifest.complete);
    return complete ? undefined : "its run has no complete result";
  }

  /** An attempt takes back its own result that no manifest names, and a client its answers; a manifest that names it later is another checker's. */
  function isUnnamedResult({ kind, rest }: Place & { readonly rest: string }, run: RunRecord): boolean {
    const isResult =
      kind === "result" && /^(\d+\/[^/]+\/result\.\w+|answers\/[^/]+(\.\w+|\/\d+))$/.test(rest);
    return isResult && ![...run.manifests.values()].some(({ blob }) => blob.endsWith(`/${rest}`));
  }

  /** What attempts at a pack kept of it is worthless once its partial lacks nothing. */
  function isKeptOfWhole({ rest }: { readonly rest: string }, { parts, gapped }: RunRecord): boolean {
    const pack = Number(/^kept\/\d+\/(\d+)$/.exec(rest)?.[1]);
    return parts.has(pack) && !gapped.has(pack);
  }

  /** A command that came when all was over is answered by the final state. Of a broken submit there is nothing else. */
  function wrongWithMarker({
    marker,
    state,
    specThere,
    manifests,
    deleteAskedMs,
    lostByHand,
  }: RunRecord): string | undefined {
    if (marker === undefined) return undefined;
    if (deleteAskedMs !== undefined) return specThere ? "its spec is still there" : undefined;
    if (!specThere && state === undefined && manifests.size === 0) return undefined;
    if (state === undefined || !isFinal(state.phase)) {
      // An operator deleted the state, or rolled it back, right after the leader had written that it has ended.
      const ended = state === undefined ? manifests.size > 0 : manifests.has(marker.generation);
      if (lostByHand === true && ended) return undefined;
      return `its run is ${state?.phase ?? "not begun"}`;
    }
    // Without its spec nobody can begin a retry.
    if (!specThere && lostByHand === true) return undefined;
    return marker.generation > state.generation ? `generation ${marker.generation} was asked for` : undefined;
  }

  function wrongWithSpec(run: RunRecord): string | undefined {
    const { deleteAskedMs, blobs } = run;
    if (deleteAskedMs === undefined) return "nobody asked for its deletion";
    const older = [...blobs].filter(([, atMs]) => atMs < deleteAskedMs).map(([name]) => name);
    return older.length === 0 ? undefined : `${older.length} blobs of its run are still there: ${older[0]}`;
  }

  return (effect) => {
    if (effect.kind !== "removed") return;
    const place = placeOf(effect.container, effect.name);
    if (place.kind === "other") return;
    const what = wrongWith(place);
    if (what !== undefined) report(checker, `${effect.container}/${effect.name}: ${what}`);
  };
}
