import { edit, type Mutant } from "./mutant.ts";

const died = "a leader dies at any call around an end, and a retry follows at once: each end is told";
const refused = "a place that refuses words for hours gets each in the end, and no run waits for it";
const killedBy = "the scenario's own end";
const told = "if (term.tells === true) await sendAll(term, [{ message: tellMessage(ended), urgent: true }]);";
const created = 'if (reply.kind === "created") return;';

/** Words of ended runs: somebody is told of each end, whoever dies, and of a place that refuses them no run knows. */
export const tellRules: readonly Mutant[] = [
  {
    without: "the task before the blob that says that it was sent",
    rule: 36,
    killedBy,
    cases: [died],
    edits: [
      ...edit("leader/perform/enlist.ts", told, ""),
      ...edit("leader/perform/enlist.ts", created, `if (reply.kind === "created") { ${told} return; }`),
    ],
  },
  {
    without: "another delivery of a refused word",
    rule: 36,
    killedBy,
    cases: [refused],
    edits: edit("worker/tellEnd.ts", "if (failed.length === 0 || laterS === undefined) return;", "return;"),
  },
  {
    without: "a worker that leaves words to others",
    rule: 36,
    killedBy,
    cases: ["an instance without the settings leaves words to one that has them"],
    edits: edit("worker/tellEnd.ts", "return enqueueForOthers(ports, delivery, noSetting());", "return;"),
  },
];
