import { edit, type Mutant } from "./mutant.ts";

const specLost =
  "a spec that was deleted by hand in a retry ends it in words, and a retry goes on once the spec is back";
const life = { who: "worker", call: 0, fate: "arrives" } as const;

/** Going: what may be deleted, which messages still count, and what another version wrote. */
export const wantedRules: readonly Mutant[] = [
  {
    without: "keeping the partials of a result with gaps",
    rule: "deletions",
    killedBy: "deleted only what is worthless",
    cases: [life],
    edits: edit("cleanUp", "manifest?.complete === true && state", "manifest !== undefined && state").concat(
      edit("cleanUp", "if (made?.value.complete !== true)", "if (made === undefined)"),
    ),
  },
  {
    without: "the summary before the spec in a deletion",
    rule: "deletions",
    killedBy: "lists show what has ended",
    cases: [life],
    edits: edit("deleteSpec", "await blobs.remove(runs, closedBlob", "void (runs, closedBlob"),
  },
  {
    without: "a look for a state or a result before a marker without a spec goes",
    rule: "deletions",
    killedBy: "deleted only what is worthless",
    cases: [specLost],
    edits: edit("withdraw", 'if (state.kind === "found" ||', 'if (id === "" ||').concat(
      edit("withdraw", "(await hasManifest(term, id, uid))", "hasManifest === undefined"),
    ),
  },
  {
    without: "keeping a result whose manifest may arrive late",
    rule: "deletions",
    killedBy: "the result is the fold of what the manifest says",
    cases: ["a manifest arrives after its finisher gave it up, and the result that it names is there"],
    edits: edit(
      "writeManifest",
      'await storage.blobs.create(results, name, text, { contentType: "application/json" });',
      'await storage.blobs.create(results, name, text, { contentType: "application/json" }).catch((error) => removeResult(ports, manifest.blob).then(() => Promise.reject(error)));',
    ),
  },
  {
    without: "a look whether the manifest that stands is the attempt's own",
    rule: "deletions",
    killedBy: "deleted only what is worthless",
    cases: ["a repeated request for a manifest meets the finisher's own, and the result that it names stays"],
    edits: edit("writeManifest", "if (blob !== manifest.blob)", 'if (blob !== "")'),
  },
  {
    without: "blobs before the spec in a deletion",
    rule: "deletions",
    killedBy: "deleted only what is worthless",
    cases: [life],
    edits: edit(
      "deleteRun",
      "(await deleteUnder(term, names.runs, runBlobs(id, uid).root, pages)) &&",
      "names.runs !== '' &&",
    ),
  },
  {
    without: "the spec before the marker in a deletion",
    rule: "deletions",
    killedBy: "deleted only what is worthless",
    cases: [life],
    edits: edit("deleteRun", '|| !(await deleteSpec(term, id, uid))) return "more";', ') return "more";'),
  },
  {
    without: "the ETag of the state that an expiry judged",
    rule: "deletions",
    killedBy: "deleted only what is worthless",
    cases: ["the marker of an expiry arrives after a retry has ended, and deletes nothing"],
    edits: edit("beginDeletion", '{ ifMatch: judged ?? "", signal: leader.lost }', "{ signal: leader.lost }"),
  },
  {
    without: "a look whose marker stands where a submit meets one",
    rule: "deletions",
    killedBy: "the scenario's own end",
    cases: ["submit again while the marker of the deleted run is on its way out"],
    edits: edit(
      "createMarker",
      'if (marker?.uid !== uid || marker.want === "delete") return undefined;',
      "if (marker === undefined) return undefined;",
    ),
  },
  {
    without: "the uid in the names of a run's blobs",
    rule: "wanted work",
    killedBy: "an old run is never met",
    cases: ["delete and resubmit under the same id"],
    edits: edit(
      "runBlobs",
      "export function runBlobs(id: string, uid: string) {\n  const root = `${id}/${uid}/`;",
      "export function runBlobs(id: string, uid: string) {\n  const root = `${id}/${uid.length}/`;",
    ),
  },
  {
    without: "sending again what was sent under an earlier turn",
    rule: "wanted work",
    killedBy: "recorded what was sent",
    cases: ["pause and resume between two listings"],
    edits: edit("obeyCommand", "beginTurn(state);", "void beginTurn;"),
  },
  {
    without: "the worker's look at a pause",
    rule: "wanted work",
    killedBy: "a pause holds",
    cases: ["a pause holds for minutes, under another leader too"],
    edits: edit("unwantedReason", 'if (marker.want === "paused") return "the run is paused";', "").concat(
      edit(
        "unwantedReason",
        'if (marker.turn > message.turn) return "the run was paused and resumed since";',
        "",
      ),
    ),
  },
  {
    without: "an end of the trust in a reading of the marker",
    rule: "wanted work",
    killedBy: "a pause holds",
    cases: ["a pause holds for minutes, under another leader too"],
    edits: edit("markerWatch", "> limits.markerTrustMs;", "> 20 * limits.markerTrustMs;"),
  },
  {
    without: "a look whether the run is still there",
    rule: "wanted work",
    killedBy: "an old run is never met",
    cases: ["delete and resubmit while a leader of the old run sleeps in the middle of its sends"],
    edits: edit(
      "unwantedReason",
      'if (marker === undefined) return "the run has ended";',
      "if (marker === undefined) return undefined;",
    ).concat(
      edit(
        "unwantedReason",
        'if (marker.uid !== message.uid) return "the id belongs to another run now";',
        "",
      ),
    ),
  },
  {
    without: "telling another version's bytes from broken ones",
    rule: "versions",
    killedBy: "another version is respected",
    cases: ["workers give messages of another version back"],
    edits: edit(
      "checkVersion",
      "|| !isVersion(version)) return;",
      "|| !isVersion(version) || version >= 0) return;",
    ),
  },
  {
    without: "giving a message of another version back",
    rule: "versions",
    killedBy: "another version is respected",
    cases: ["workers give messages of another version back"],
    edits: edit(
      "decodeDelivery",
      "if (error instanceof OtherVersionError) await enqueueForOthers",
      "if (error instanceof OtherVersionError && delivery.attempt < 0) await enqueueForOthers",
    ),
  },
];
