import { edit, type Mutant } from "./mutant.ts";

const small = "a small run is computed where it is led, and no message of it goes to a queue";
const longer = "what takes longer than planned goes to others in time, though the leader has taken it";

/** What the leader hands to the worker of its own process (rule *send order*). */
const awaited = "a run that a request waits for is led by it, before its wake is polled";
const takenOver = "a wake takes over what a request leads";
const inTime = "a request that leads a long run is answered in time, and the run goes on";

export const localWorkRules: readonly Mutant[] = [
  {
    without: "handing work to the leader's own worker",
    rule: "send order",
    killedBy: "the scenario's own end",
    cases: [small],
    edits: edit(
      "sendWork",
      "local?.take(message, work, onEnd) !== true",
      "local?.has(message.uid) !== undefined",
    ),
  },
  {
    without: "recording as sent what was handed over",
    rule: "send order",
    killedBy: "hardly anything is computed twice",
    cases: [small],
    edits: edit("sendWork", "options.onSent?.(one);", ""),
  },
  {
    without: "the queue for what no thread has begun in time",
    rule: "send order",
    killedBy: "hardly anything is computed twice",
    cases: [longer],
    edits: edit(
      "localWorker",
      "clock.after(limits.beginsHereMs, leave(enqueue))",
      "clock.after(1e9, leave(enqueue))",
    ),
  },
  {
    without: "the request that leads what nobody has led",
    rule: "send order",
    killedBy: "the scenario's own end",
    cases: [awaited],
    edits: edit("awaitRun", 'phase === "waiting" ? lead', 'phase === "planning" ? lead'),
  },
  {
    without: "the wake that takes over what a request leads",
    rule: "send order",
    killedBy: "the scenario's own end",
    cases: [takenOver],
    edits: edit("Coordinator", '(await this.#takeOver?.(stopping)) ?? { kind: "busy" }', '{ kind: "busy" }'),
  },
  {
    without: "handing over what a request leads when it is answered",
    rule: "send order",
    killedBy: "the scenario's own end",
    cases: [inTime],
    edits: edit("awaitRun", "answered.abort();", ""),
  },
];
