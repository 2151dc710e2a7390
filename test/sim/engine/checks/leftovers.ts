import { isFinal } from "../../../../src/engine/model/state.ts";
import type { Scene } from "./judge.ts";
import type { RunRecord } from "./ledger.ts";

/**
 * A leader has seen the last command, nothing more fits into the bound, and what was sent has ended or is lost. An operator may
 * have rolled its state back since, which nobody reads before the next command.
 */
export const isAtMaxCost = ({
  marker,
  state,
  lostByHand,
}: Pick<RunRecord, "marker" | "state" | "lostByHand">): boolean =>
  marker?.want === "run" &&
  marker.rests === marker.command &&
  (state?.maxCostAtMs !== undefined || lostByHand === true);

/** At the end of a world, after clean-up. */
export function checkEnds({ ledger, report }: Scene): void {
  for (const run of ledger.runs.values()) {
    const { id, uid, marker, state, deleteAskedMs, blobs } = run;
    if (marker !== undefined) {
      const waits = marker.want === "paused" && state?.paused === true;
      if (!waits && !isAtMaxCost(run))
        report("every run ends", `${id} (${uid}) is ${state?.phase}, its marker wants ${marker.want}`);
      continue;
    }
    if (!run.specThere && deleteAskedMs === undefined) continue;
    const kept = [...blobs].flatMap(([name, atMs]) =>
      isDocumented(run, name, ledger.losesMessages) || isLate(run, atMs) ? [] : name,
    );
    if (kept.length > 0)
      report("what is left is documented", `${kept.length} blobs of ${id}: ${kept.join(", ")}`);
    if (deleteAskedMs !== undefined) {
      // A leader that stood still writes the spec of a due time once more, which nobody begins.
      const isLater = (run.specMs ?? 0) > (run.closedMs ?? Number.POSITIVE_INFINITY);
      if (run.specThere && !isLater)
        report("what is left is documented", `the spec of the deleted ${id} (${uid})`);
    } else if (state === undefined && blobs.size === 0) {
      // A submit that broke off after its spec; whoever was told that it was accepted looks for it by themselves.
    } else if (state === undefined || !isFinal(state.phase)) {
      if (run.lostByHand === true) continue;
      report("every run ends", `${id} (${uid}) has no marker and is ${state?.phase}`);
    } else if (state.phase === "complete" && !run.manifests.has(state.generation)) {
      report("every run ends", `${id} (${uid}) is complete without a manifest`);
    } else if (state.phase === "cancelled" && run.manifests.has(state.generation) && run.forged !== true) {
      report("commands are answered", `${id} (${uid}) is cancelled and has a result`);
    }
  }
}

/** Below the uid of a run: what stays of it until it expires. */
export const leftByEveryRun = [
  /^(plan|state)\.json$/,
  /^plan\/[^/]+\/\d+$/,
  /^failed\//,
  // Whoever wrote the whole partial died before it deleted this, or a slower attempt failed after that.
  /^kept\/\d+\/\d+$/,
  /^\d+\/manifest\.json$/,
  /^\d+\/[^/]+\/result\.\w+$/,
  /^\d+\/hashes\/\d+$/,
  /^files\/[0-9a-f]{64}\.txt$/,
];

/** The last pages of a deletion, and the calls that follow them. */
const lastPagesMs = 10_000;

/** A worker that was at work when all was deleted may write afterwards; the account's lifecycle rule takes that. */
function isLate({ deleteAskedMs, closedMs, manifests, blobs }: RunRecord, atMs: number): boolean {
  if (deleteAskedMs !== undefined) return closedMs !== undefined && atMs > closedMs - lastPagesMs;
  const latest = Math.max(...manifests.keys());
  const manifestName = [...blobs.keys()].find((name) =>
    name.endsWith(`/${String(latest).padStart(3, "0")}/manifest.json`),
  );
  return atMs > (blobs.get(manifestName ?? "") ?? Number.POSITIVE_INFINITY);
}

/** What a run leaves: nothing where it was deleted; its partials and nodes where a retry may need them. */
function isDocumented(run: RunRecord, name: string, losesMessages: boolean): boolean {
  if (run.deleteAskedMs !== undefined) return false;
  const rest = name.split("/").slice(3).join("/");
  if (leftByEveryRun.some((pattern) => pattern.test(rest))) return true;
  // What its calculation was asked about, for whoever verifies the result.
  if (run.plan?.stops === true && /^nodes\/\d+\/2\//.test(rest)) return true;
  // Of a plan that was lost, the account's lifecycle rule takes what the new one does not know.
  if (run.lostByHand === true && /^(parts|nodes)\//.test(rest)) return true;
  // A message of the clean-up may be lost or fail for good; the run takes its partials along when it expires.
  if (losesMessages && /^(parts|nodes)\//.test(rest)) return true;
  const complete = [...run.manifests.values()].some((manifest) => manifest.complete);
  return (!complete || run.spec?.keepPartials === true) && /^(parts|nodes)\//.test(rest);
}
