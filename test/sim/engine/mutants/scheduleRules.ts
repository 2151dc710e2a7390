import { edit, type Mutant } from "./mutant.ts";

const deleted = "a run that a person deletes while its schedule cannot be written does not begin anew";
const nobody = "nobody led for hours: what was due within the hour is run, and the others are skipped";
const taken = "a person's run has the id of a due run: the schedule says so and continues";
const reuses = "each run of a schedule that reuses takes what the one before has";
const forged =
  "forged schedules of every kind beside a run and an honest schedule: neither is later than without";
const checker = "a due time is decided once";
const end = "the scenario's own end";

/** Schedules: each due time is decided once, by its spec or by the schedule that moves on. */
export const scheduleRules: readonly Mutant[] = [
  {
    without: "a deletion that waits for the record",
    rule: "schedules",
    killedBy: checker,
    cases: [deleted],
    edits: edit(
      "coordinate",
      'marker.metadata["want"] === "delete" && schedules',
      'marker.metadata["want"] === "run" && schedules',
    ),
  },
  {
    without: "the end of the hour",
    rule: "schedules",
    killedBy: checker,
    cases: [nobody],
    edits: edit("keepSchedule", "dueMs < lateMs ?", "dueMs < 0 ?"),
  },
  {
    without: "a word for what is missed",
    rule: "schedules",
    killedBy: checker,
    cases: [nobody],
    edits: edit("keepSchedule", "write({ next, skipped: dueMs })", "write({ next })"),
  },
  {
    without: "a decision about each due time",
    rule: "schedules",
    killedBy: checker,
    cases: [nobody],
    edits: edit("keepSchedule", "lateMs - 1 : dueMs", "lateMs - 1 : nowMs"),
  },
  {
    without: "regard for the run before",
    rule: "schedules",
    killedBy: end,
    cases: [nobody],
    edits: edit(
      "keepSchedule",
      'schedule.overlap === "skip" && isBusy',
      'schedule.overlap === "allow" && isBusy',
    ),
  },
  {
    without: "regard for the owner of a run",
    rule: "schedules",
    killedBy: end,
    cases: [taken],
    edits: edit(
      "submitDue",
      'if (there === undefined || !ours.includes(there.sha256)) return "id-taken";',
      'if (there === undefined) return "id-taken";',
    ),
  },
  {
    without: "what the run before has",
    rule: "schedules",
    killedBy: end,
    cases: [reuses],
    edits: edit("runBefore", "last ?? 0", "0"),
  },
  {
    without: "a failure of a schedule that is its own, and a bound of its depth",
    rule: "schedules",
    killedBy: end,
    cases: [forged],
    edits: [
      ...edit("isDeeper", "if (levels === 0) return true;", ""),
      ...edit(
        "keepSchedules",
        "const known = error",
        "if (!(error instanceof StorageError)) throw error;\n      const known = error",
      ),
    ],
  },
  {
    without: "a word for a schedule that cannot be read",
    rule: "schedules",
    killedBy: end,
    cases: [forged],
    edits: edit("schedulesIn", "if (!told.has(blob.name))", "throw error;\n      if (!told.has(blob.name))"),
  },
];
