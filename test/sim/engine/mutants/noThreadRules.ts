import { edit, type Mutant } from "./mutant.ts";

const slow = "a small run where every thread is slower than planned";
const hung = [2, 1].map((world) => `a small run beside packs that hang, number ${world}`);

/** What becomes of work for which an instance has no thread, and of a small run beside large ones. */
export const noThreadRules: readonly Mutant[] = [
  {
    without: "an end of the wait for threads that are overdue",
    rule: "attempts",
    killedBy: "a run holds up no other",
    cases: hung,
    edits: edit("threadSlots", "leftMs() > 0 ? wait() : tooLong()", "leftMs() > 0 ? wait() : void tooLong"),
  },
  {
    without: "a delivery that lasts until a thread is free",
    rule: "attempts",
    killedBy: "messages do not pile up",
    cases: hung,
    edits: edit("handleOne", "await error.freed", "void error.freed"),
  },
  {
    without: "a thread that is kept for urgent work",
    rule: "attempts",
    killedBy: "a run holds up no other",
    cases: [slow],
    edits: edit(
      "threadSlots",
      "clock.after(limits.keptForUrgentMs,",
      "clock.after(0 * limits.keptForUrgentMs,",
    ),
  },
  {
    without: "patience with threads that are within their planned time",
    rule: "attempts",
    killedBy: "the scenario's own end",
    cases: ["packs that keep all threads at work as long as planned send no message back"],
    edits: edit("threadSlots", "limits.slowFactor * expectedMs", "0 * expectedMs"),
  },
  {
    without: "patience with threads of the same run",
    rule: "attempts",
    killedBy: "the scenario's own end",
    cases: ["packs that wait for packs of their own run stay where they are"],
    edits: edit("threadSlots", "every((one) => one.run === run)", "every((one) => one.run === `${run} not`)"),
  },
  {
    without: "a run that overtakes what is queued beyond the shares",
    rule: "send order",
    killedBy: "a run holds up no other",
    cases: ["a small run that comes a minute after two large ones"],
    edits: edit(
      "shareOut",
      "packsAtOnce: share, overtakes, behind }",
      "packsAtOnce: share, overtakes: overtakes && share < 0, behind }",
    ),
  },
];
