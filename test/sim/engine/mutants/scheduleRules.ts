import { edit, type Mutant } from "./mutant.ts";

const deleted = "a run that a person deletes while its schedule cannot be written does not begin anew";
const outlasts = "a run that outlasts its schedule: the next are skipped, queued, or cancel it";
const nobody = "nobody led for hours: the latest due time is run, and the others have a word";
const taken = "a person's run has the id of a due run: the schedule says so and continues";
const reuses = "each run of a schedule that reuses takes what the one before has, past one that never ended";
const submitting = "leader/perform/submitDue.ts";

/** Schedules: what is due is decided once, recorded, and then submitted. */
export const scheduleRules: readonly Mutant[] = [
  {
    without: "a record before the submit",
    rule: 34,
    killedBy: "a due time is decided once",
    cases: [nobody],
    edits: edit(
      "leader/schedules.ts",
      "if (decision.marks !== marks && !(await write(decision.marks))) return marks;",
      "",
    ),
  },
  {
    without: "a deletion that waits for the record",
    rule: 34,
    killedBy: "a due time is decided once",
    cases: [deleted],
    edits: edit(
      "leader/coordinate.ts",
      'marker.metadata["want"] === "delete" && schedules',
      'marker.metadata["want"] === "run" && schedules',
    ),
  },
  {
    without: "the end of the window",
    rule: 34,
    killedBy: "a due time is decided once",
    cases: [nobody],
    edits: edit("leader/decide/schedule.ts", "Math.max(cursor, nowMs - catchUpMs)", "cursor"),
  },
  {
    without: "a word for what is missed",
    rule: 34,
    killedBy: "a due time is decided once",
    cases: [nobody],
    edits: edit(
      "leader/decide/schedule.ts",
      "[...late, ...due.slice(0, due.length - taken.length)]",
      "[...late]",
    ),
  },
  {
    without: "regard for the run before",
    rule: 34,
    killedBy: "the scenario's own end",
    cases: [outlasts],
    edits: edit("leader/decide/schedule.ts", "active.any ? [] : waiting", "waiting"),
  },
  {
    without: "regard for the owner of a run",
    rule: 34,
    killedBy: "the scenario's own end",
    cases: [taken],
    edits: edit(
      submitting,
      'if (there?.spec.schedule !== schedule.name) return "id-taken";',
      'if (there === undefined) return "id-taken";',
    ),
  },
  {
    without: "what the run before has",
    rule: 34,
    killedBy: "the scenario's own end",
    cases: [reuses],
    edits: edit(submitting, "before.toReversed()", "before.slice(0, 0)"),
  },
];
