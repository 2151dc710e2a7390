import { edit, type Mutant } from "./mutant.ts";

const kills = "a pack that ends its process, under a limit of 300 s";
const killsAll = "a pack that ends the process of the only instance, which also leads";

/** Liveness and rest: what ends, after how many attempts, and what costs nothing. */
export const livenessRules: readonly Mutant[] = [
  {
    without: "an end of work that hits its time limit",
    rule: "attempts",
    killedBy: "every run ends in time",
    cases: ["several doomed chunks of one pack are found one after the other"],
    edits: edit("replaceable", "max: limits.overtimeSendsMax", "max: 8"),
  },
  {
    without: "a record for a message that is delivered again (it is computed again)",
    rule: "attempts",
    killedBy: "few processes die of one piece of work",
    cases: ["a message that comes back while its resend is computed begins nothing"],
    edits: edit(
      "attempt",
      "if (again) return { outcome: await endSilent(ports, message), calculation };",
      "",
    ),
  },
  {
    without: "a limit to processes that die of one piece of work",
    rule: "isolation",
    killedBy: "few processes die of one piece of work",
    cases: [kills, killsAll],
    edits: edit("replaceable", "max: limits.diedSendsMax", "max: 8"),
  },
  {
    without: "a sealed shard that stays as it is",
    rule: "sealed shards",
    killedBy: "a sealed shard never changes",
    cases: { seedsFrom: 1 },
    edits: edit(
      "sealShards",
      "    if (!foldsPacksDirectly(layout) && shard < counting) askForNode(draft, 1, shard);",
      "    if (!foldsPacksDirectly(layout) && shard < counting) askForNode(draft, 1, shard);\n    if (shard > 0) for (const one of Object.values(state.sealed)) one.members ??= open.done;",
    ),
  },
  {
    without: "forgetting the sends of a pack that has ended",
    rule: "takeover",
    killedBy: "the state stays small",
    cases: { seedsFrom: 2 },
    edits: edit("trackParts", "delete state.resent[index];", ""),
  },
  {
    without: "turns of attempts whose work ended processes before",
    rule: "isolation",
    killedBy: "the scenario's own end",
    cases: ["two packs that ended processes do not die of each other"],
    edits: edit("attempt", "isolated ? ports.inTurn(work) : work()", "work()"),
  },
  {
    without: "a plan that no longer times chunks once its process ended twice",
    rule: "isolation",
    killedBy: "the scenario's own end",
    cases: ["two packs that ended processes do not die of each other"],
    edits: edit("planAndTime", "attempt.isolated", "!attempt"),
  },
  {
    without: "a new leader that knows since when packs are taken",
    rule: "takeover",
    killedBy: "every run ends in time",
    cases: ["a leader is killed every eight seconds, and a worker with its pack"],
    edits: edit(
      "newRun",
      "const working = chain.state();",
      "const working = { ...chain.state(), taken: chain.state().taken.map((one) => ({ ...one, atMs: asked.listed.nowMs })) };",
    ),
  },
  {
    without: "a write of since when work was taken",
    rule: "takeover",
    killedBy: "every run ends in time",
    cases: ["a leader is killed every eight seconds, and a worker with its pack"],
    edits: edit("keepTaken", "draft.noted = true;", ""),
  },
  {
    without: "a write of a resend as soon as it was sent",
    rule: "takeover",
    killedBy: "few processes die of one piece of work",
    cases: ["a pack that ends the process of the only instance, which also leads"],
    edits: edit("resendPack", "draft.decided = true;", ""),
  },
  {
    without: "a list of what may be there before the rest is given up",
    rule: "run limits",
    killedBy: "the result is the fold of what the manifest says",
    cases: ["the rest is given up after a leader died that had not recorded its sends"],
    edits: edit("giveUpRest", "fresh.recount = true;", "void fresh;"),
  },
  {
    without: "taking note of a plan before a command that ends the run",
    rule: "run limits",
    killedBy: "the scenario's own end",
    cases: ["the rest is given up after a leader died that had not recorded its sends"],
    edits: edit(
      "learn",
      "  learnPlan,\n  obeyCommand,\n  keepDeadline,\n",
      "  obeyCommand,\n  keepDeadline,\n  learnPlan,\n",
    ),
  },
  {
    without: "a record before sends that the next leader would not take for possibly sent",
    rule: "takeover",
    killedBy: "recorded what was sent",
    cases: ["a retry of a run with few gaps, far apart"],
    edits: edit("perform", "({ pack }) => pack >= beyond)", "({ pack }) => pack < 0)"),
  },
  {
    without: "counting what is there where the state was lost",
    rule: "run limits",
    killedBy: "the result is the fold of what the manifest says",
    cases: ["a state that was deleted by hand before a cancel that keeps what is done"],
    edits: edit("trackPlan", "if (planMs >= state.createdMs)", "if (planMs >= 0)"),
  },
  {
    without: "terms from before a state was lost",
    rule: "close",
    killedBy: "the scenario's own end",
    cases: ["a state that was deleted by hand while its run finished costs it no result"],
    edits: edit("hasLed", "lost === true &&", "lost === false &&"),
  },
  {
    without: "rest for a paused run",
    rule: "rest",
    killedBy: "what has nothing to do costs nothing",
    cases: ["a paused run rests, and a resume wakes it"],
    edits: edit("hasComeToRest", 'if (want === "paused" && !state.paused)', 'if (want === "paused")'),
  },
  {
    without: "an end of the rest at the deadline",
    rule: "rest",
    killedBy: "the scenario's own end",
    cases: ["a paused run rests until its deadline, which is kept within a tick"],
    edits: edit("layToRest", "rests: marker.command, until }", "rests: marker.command }"),
  },
  {
    without: "leaving markers of other versions and those without a uid alone",
    rule: "rest",
    killedBy: "what has nothing to do costs nothing",
    cases: ["a marker without a uid costs nothing and is told of once"],
    edits: edit(
      "kindOf",
      "if (error instanceof OtherVersionError) return",
      'if (nowMs > 0) return "to-lead"; if (error instanceof OtherVersionError) return',
    ),
  },
  {
    without: "a growing pause for a run whose poll fails",
    rule: "rest",
    killedBy: "what has nothing to do costs nothing",
    cases: ["an operator leases the state of a run and never lets go"],
    edits: edit("RunBackoff", "localMs < known.untilMs", "localMs < 0"),
  },
  {
    without: "waiting for the other half of a span",
    rule: "merge tree",
    killedBy: "the result is the fold of what the manifest says",
    cases: ["the reply to a finisher's manifest is lost, and the result that it names stays"],
    edits: edit(
      "TreeFold",
      "while (held.at(-1)?.size === whole.size && (whole.from / whole.size) % 2 === 1)",
      "while (held.length > 0)",
    ),
  },
];
