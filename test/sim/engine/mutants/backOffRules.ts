import { edit, type Mutant } from "./mutant.ts";

const leaderDies = "the leader dies while all packs wait, and nothing is sent twice";
const workerDies = "a worker dies right after its pack began to wait, and the pack is not resent";
const storm = "all packs of a run come back at once, and wait in the queue for minutes";
const shortPauses = "what throws is tried at once, and after 1, 3 and 9 s";
const forAnHour = "all chunks of a run wait for an hour, and nobody leads it";

/** Work that waits for its next attempt, and what code asks for. */
export const backOffRules: readonly Mutant[] = [
  {
    without: "patience with what waits for its next attempt",
    rule: "waits",
    killedBy: "messages do not pile up",
    cases: [workerDies],
    edits: [
      ...edit("isInvisible", "nowMs <= wait.untilMs;", "nowMs < 0;"),
      ...edit("isFromBefore", "nowMs - heartbeat.silentMs <= wait.notedMs", "nowMs < 0"),
    ],
  },
  {
    without: "doubt in heartbeats from before the wait",
    rule: "waits",
    killedBy: "messages do not pile up",
    cases: [workerDies],
    edits: edit("isFromBefore", "nowMs - heartbeat.silentMs <= wait.notedMs", "nowMs < 0"),
  },
  {
    without: "an end of the attempts at a chunk in its thread",
    rule: "attempts",
    killedBy: "the scenario's own end",
    cases: [shortPauses],
    edits: edit("pauseBefore", "attempt >= attemptsFor(error, retry.attemptsMax)", "attempt >= 50"),
  },
  {
    without: "a note of what throws and is computed again in its thread",
    rule: "judgement",
    killedBy: "the scenario's own end",
    cases: [shortPauses],
    edits: edit("isSlow", "sends.isolated !== true && !tried", "sends.isolated !== true"),
  },
  {
    without: "a note before the wait",
    rule: "waits",
    killedBy: "hardly anything is computed twice",
    cases: [leaderDies],
    edits: edit("endAttempt", "await noteTried(", "if (last) await noteTried("),
  },
  {
    without: "an order among the notes of one attempt",
    rule: "waits",
    killedBy: "the scenario's own end",
    cases: ["what throws is tried after the pauses that its run gives"],
    edits: edit("computePack", "noted = noted.then(", "void noted.then("),
  },
  {
    without: "counting from the end of the wait until work is lost",
    rule: "waits",
    killedBy: "messages do not pile up",
    cases: ["the message of a pack that waits is sent seconds after its note, and nothing is resent"],
    edits: edit("seeWork", "wait?.untilMs ?? 0)", "0)").concat(
      edit("judgements", "!seen.isPoisonRead", "seen.nowMs < 0"),
    ),
  },
  {
    without: "patience with what came back behind others",
    rule: "waits",
    killedBy: "messages do not pile up",
    cases: [storm],
    edits: edit(
      "isBehind",
      "wait !== undefined && urgent.full",
      "wait !== undefined && wait.untilMs < 0 && urgent.full",
    ),
  },
  {
    without: "a resend of what does not come back",
    rule: "waits",
    killedBy: "every run ends in time",
    cases: ["the messages of packs that wait are lost, and they are resent after the wait"],
    edits: edit("isInvisible", "nowMs <= wait.untilMs;", "nowMs > 0;"),
  },
  {
    without: "rest while all work waits",
    rule: "waits",
    killedBy: "what has nothing to do costs nothing",
    cases: [forAnHour],
    edits: edit("restsUntil", "idleUntilMs - at.nowMs >= backOff.restMsMin", "idleUntilMs < 0"),
  },
  {
    without: "an end of that rest",
    rule: "waits",
    killedBy: "every run ends in time",
    cases: [forAnHour],
    edits: edit("kindOf", "nowMs > until", "until < 0"),
  },
  {
    without: "a bound on what code asks for",
    rule: "waits",
    killedBy: "every run ends in time",
    cases: ["a chunk asks for ever to be tried later, and its run fails after a day"],
    edits: edit("backOff", "waitMaxS: 86_400", "waitMaxS: 864_000"),
  },
  {
    without: "an end of the run that code asks for",
    rule: "waits",
    killedBy: "the scenario's own end",
    cases: ["code ends its run, which tolerates failed chunks"],
    edits: edit("endIfAsked", "code === failRunCode &&", 'code === "" &&'),
  },
  {
    without: "an end of waits beyond the deadline",
    rule: "waits",
    killedBy: "every run ends in time",
    cases: ["what is left waits until after the deadline, and the run fails at once"],
    edits: edit("judgeWaits", "first.untilMs > deadlineMs(deadline, state)", "first.untilMs < 0"),
  },
];
