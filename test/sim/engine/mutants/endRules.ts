import { edit, type Mutant } from "./mutant.ts";

const life = { who: "worker", call: 0, fate: "arrives" } as const;

const published = "await sendToQueue(term, state, body);";
const created = 'if (reply.kind === "created") return;';

/** Ending: what a failure is, what a command does, and when a run is over. */
export const endRules: readonly Mutant[] = [
  {
    without: "the summary of an ended run",
    rule: "close",
    killedBy: "lists show what has ended",
    cases: [life],
    edits: edit("cleanUp", "enlist(term, ended),", "undefined,"),
  },
  {
    without: "the summary before the marker goes",
    rule: "close",
    killedBy: "lists show what has ended",
    cases: [life],
    edits: edit("cleanUp", "await Promise.all([", "void Promise.all(["),
  },
  {
    without: "the summary of a later generation",
    rule: "close",
    killedBy: "lists show what has ended",
    cases: ["a manifest that arrives long after the run failed is no harm, and a retry goes on"],
    edits: edit("isListed", "known?.uid === uid && known.generation >= generation", "known?.uid === uid"),
  },
  {
    without: "a completion event of its own for a later generation",
    rule: "close",
    killedBy: "lists show what has ended",
    cases: ["a manifest that arrives long after the run failed is no harm, and a retry goes on"],
    edits: edit(
      "enlist",
      "blobs.replace(names.runs, name, body, { ...write, ifMatch",
      "blobs.setMetadata(names.runs, name, write.metadata, { signal, ifMatch",
    ),
  },
  {
    without: "the completion event of a generation before its retry begins",
    rule: "close",
    killedBy: "lists show what has ended",
    cases: [
      "a leader dies before it publishes the completion event, and a retry comes first: both generations have theirs",
    ],
    edits: edit("takeOverState", "if (retried && over) await run.beforeRetry?.(state);", ""),
  },
  {
    without: "holding the manifest against the tally",
    rule: "close",
    killedBy: "the scenario's own end",
    cases: ["a forged finish with other members ends in a failure and not in a result"],
    edits: edit(
      "close",
      "found === undefined ? undefined : differenceFrom(state, found)",
      "found === undefined || found.chunks > 0 ? undefined : differenceFrom(state, found)",
    ),
  },
  {
    without: "folding anew what a forged combine may have folded",
    rule: "close",
    killedBy: "the scenario's own end",
    cases: ["a forged combine with other members ends in a failure, and a retry folds all of them"],
    edits: edit("beginGeneration", "if (trusted && sealed.node", "if (sealed.node"),
  },
  {
    without: "waiting for every send to end (one that failed is enough)",
    rule: "failure records",
    killedBy: "fails only for a reason",
    cases: ["a record of one send says nothing of another that still works"],
    edits: edit(
      "verdictOf",
      'if (!ended.has(send)) return { kind: "wait" };',
      'if (!ended.has(send)) return { kind: "fail", why: "" };',
    ),
  },
  {
    without: "another send in the place of a poisoned one",
    rule: "failure records",
    killedBy: "fails only for a reason",
    cases: ["a compute message burnt into poison unrun is replaced"],
    edits: edit("replaceable", "max: limits.poisonedSendsMax", "max: 1"),
  },
  {
    without: "the poison handler's record",
    rule: "failure records",
    killedBy: "the scenario's own end",
    cases: ["a finish message burnt into poison unrun is replaced"],
    edits: edit(
      "handlePoison",
      "if (message === undefined) return;\n    const failure = {",
      "if (message === undefined || message.send > 0) return;\n    const failure = {",
    ),
  },
  {
    without: "telling storage that is away from work that fails",
    rule: "failure records",
    killedBy: "fails only for a reason",
    cases: ["storage refuses partials for minutes, longer than all attempts of a pack take"],
    edits: edit(
      "fateOf",
      'error.retry === "later" && !asked) return "enqueue-again";',
      'error.retry === "later" && asked) return "enqueue-again";',
    ),
  },
  {
    without: "another look at the marker before finishing is recorded",
    rule: "markers",
    killedBy: "the scenario's own end",
    cases: ["cancel against finishing: after the leader's list, before its record"],
    edits: edit(
      "advanceOpen",
      "if (finishing && !(await markerStands(run))) {",
      "if (finishing && listed.nowMs < 0) {",
    ),
  },
  {
    without: "the ETag on the removal of a marker",
    rule: "markers",
    killedBy: "deleted only what is worthless",
    cases: ["a retry is asked for right before the marker of the ended run is removed"],
    edits: edit(
      "cleanUp",
      "await storage.blobs.remove(names.active, listed.id, { ifMatch: listed.etag, ",
      "await storage.blobs.remove(names.active, listed.id, { ",
    ),
  },
  {
    without: "cancel being too late once finishing is recorded",
    rule: "markers",
    killedBy: "nothing unexpected",
    cases: ["cancel against finishing: at every moment around the record"],
    edits: edit(
      "obeyCommand",
      'const tooLate = state.phase === "finishing"',
      'const tooLate = state.phase === "planning"',
    ),
  },
  {
    without: "taking over a cap that was changed",
    rule: "markers",
    killedBy: "commands are answered",
    cases: ["a lowered cap holds within two loops, and a run of cap one goes on one by one"],
    edits: edit("obeyCommand", "state.cap = marker.cap;", ""),
  },
  {
    without: "the marker's cap",
    rule: "markers",
    killedBy: "the cap is kept",
    cases: { seedsFrom: 1 },
    edits: edit("fanOut", "Math.min(notes.window, packsAllowed(state))", "Math.max(notes.window, state.cap)"),
  },
  {
    without: "the last look for a manifest before a run fails",
    rule: "close",
    killedBy: "the scenario's own end",
    cases: ["a manifest written by a finisher that was given up"],
    edits: edit("close", "polled ?? (await manifestOrNone(term, before))", "polled"),
  },
  {
    without: "the final state before the marker goes",
    rule: "close",
    killedBy: "deleted only what is worthless",
    cases: [life],
    edits: edit(
      "close",
      'if ((await writeState(run, next)) === "adopted") return;',
      'await term.storage.blobs.remove(term.names.active, listed.id, { ifMatch: listed.etag });\n  if ((await writeState(run, next)) === "adopted") return;',
    ),
  },
  {
    without: "the message in the queue of completion events before the blob that has the same event",
    rule: "close",
    killedBy: "the scenario's own end",
    cases: ["a leader dies at any call around an end, and a retry follows at once: each end has its event"],
    edits: [
      ...edit("enlist", published, ""),
      ...edit("enlist", created, `if (reply.kind === "created") { ${published} return; }`),
    ],
  },
  {
    without: "the bound on the wait for the queue of completion events",
    rule: "close",
    killedBy: "the scenario's own end",
    cases: [
      "a queue of completion events that hangs delays the end of a run by five seconds, and the log says so",
    ],
    edits: edit("queueMs", "queueMs = 5_000", "queueMs = 3_600_000"),
  },
];
