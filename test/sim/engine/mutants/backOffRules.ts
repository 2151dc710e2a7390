import { edit, type Mutant } from "./mutant.ts";

const judge = "leader/decide/inFlight.ts";
const waits = "leader/decide/waits.ts";
const leaderDies = "the leader dies while all packs wait, and nothing is sent twice";
const workerDies = "a worker dies right after its pack began to wait, and the pack is not resent";
const storm = "all packs of a run come back at once, and wait in the queue for minutes";
const forAnHour = "all chunks of a run wait for an hour, and nobody leads it";

/** Work that waits for its next attempt, and what code asks for. */
export const backOffRules: readonly Mutant[] = [
  {
    without: "patience with what waits for its next attempt",
    rule: 35,
    killedBy: "messages do not pile up",
    cases: [workerDies],
    edits: [
      ...edit(waits, "nowMs <= wait.untilMs;", "nowMs < 0;"),
      ...edit(waits, "nowMs - sign.silentMs <= wait.notedMs", "nowMs < 0"),
    ],
  },
  {
    without: "doubt in signs from before the wait",
    rule: 35,
    killedBy: "messages do not pile up",
    cases: [workerDies],
    edits: edit(waits, "nowMs - sign.silentMs <= wait.notedMs", "nowMs < 0"),
  },
  {
    without: "a note before the wait",
    rule: 35,
    killedBy: "hardly anything is computed twice",
    cases: [leaderDies],
    edits: edit("worker/attempt/endAttempt.ts", "await noteTried(", "if (last) await noteTried("),
  },
  {
    without: "counting from the end of the wait until work is lost",
    rule: 35,
    killedBy: "messages do not pile up",
    cases: [storm, leaderDies, workerDies],
    edits: edit(judge, "wait?.untilMs ?? 0)", "0)"),
  },
  {
    without: "patience with what came back behind others",
    rule: 35,
    killedBy: "messages do not pile up",
    cases: [storm],
    edits: edit(waits, "wait !== undefined && urgent.full", "wait === null && urgent.full"),
  },
  {
    without: "a resend of what does not come back",
    rule: 35,
    killedBy: "every run ends in time",
    cases: ["the messages of packs that wait are lost, and they are resent after the wait"],
    edits: edit(waits, "nowMs <= wait.untilMs;", "nowMs > 0;"),
  },
  {
    without: "rest while all work waits",
    rule: 35,
    killedBy: "what has nothing to do costs nothing",
    cases: [forAnHour],
    edits: edit("leader/decide/command.ts", "idleUntilMs - at.nowMs >= backOff.restMsMin", "idleUntilMs < 0"),
  },
  {
    without: "an end of that rest",
    rule: 35,
    killedBy: "every run ends in time",
    cases: [forAnHour],
    edits: edit(
      "leader/poll/markers.ts",
      '? want !== "paused" : nowMs > until',
      '? want !== "paused" : until < 0',
    ),
  },
  {
    without: "a bound on what code asks for",
    rule: 35,
    killedBy: "every run ends in time",
    cases: ["a chunk asks for ever to be tried later, and its run fails after a day"],
    edits: edit("model/backOff.ts", "waitMaxS: 86_400", "waitMaxS: 864_000"),
  },
  {
    without: "an end of the run that code asks for",
    rule: 35,
    killedBy: "the scenario's own end",
    cases: ["code ends its run, which tolerates failed chunks"],
    edits: edit("leader/decide/failures.ts", "code === failRunCode &&", 'code === "" &&'),
  },
  {
    without: "an end of waits beyond the deadline",
    rule: 35,
    killedBy: "every run ends in time",
    cases: ["what is left waits until after the deadline, and the run fails at once"],
    edits: edit(waits, "first.untilMs > deadlineMs(deadline, state)", "first.untilMs < 0"),
  },
];
