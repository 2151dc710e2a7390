import { edit, type Mutant } from "./mutant.ts";

const kills = "a pack that ends its process, under a limit of 300 s";
const onceOnly = "what throws in full swing, and what is combined, is sent once";
const neverBegun = "a pack whose process always ends before it has begun";

/** What becomes of work in flight, by what queues show and workers tell of themselves. */
export const inFlightRules: readonly Mutant[] = [
  {
    without: "a judgement of heartbeats that are silent (time alone decides)",
    rule: "judgement",
    killedBy: "every run ends in time",
    cases: [kills],
    edits: edit(
      "seeWork",
      "!heartbeat.live && heartbeat.send === sends.send",
      "!heartbeat.live && heartbeat.send < 0",
    ),
  },
  {
    without: "a process of its own for work whose process has died",
    rule: "judgement",
    killedBy: "few processes die of one piece of work",
    cases: [kills],
    edits: edit("judgePacks", 'isolated: judgement.do === "resend isolated"', "isolated: false"),
  },
  {
    without: "a record of an isolated death",
    rule: "judgement",
    killedBy: "few processes die of one piece of work",
    cases: [kills],
    edits: edit(
      "judgements",
      "silent?.begun === true && silent.isolated, do",
      "silent?.begun === true && silent.send < 0, do",
    ),
  },
  {
    without: "patience with a death that counts",
    rule: "judgement",
    killedBy: "hardly anything is computed twice",
    cases: ["work that is isolated in a process which stops for ten seconds has not died"],
    edits: edit("isLate", "silent.silentMs <= limits.isolatedDeathMs", "silent.silentMs < 0"),
  },
  {
    without: "a resend of what is lost",
    rule: "judgement",
    killedBy: "every run ends",
    cases: ["a leader dies with what it computed itself, which is resent"],
    edits: edit("judgements", 'if: () => true, do: "resend"', 'if: () => true, do: "wait"'),
  },
  {
    without: "more patience with each loss",
    rule: "judgement",
    killedBy: "messages do not pile up",
    cases: [
      "heartbeats of long packs do not arrive for minutes, and what seems lost is resent more and more rarely",
    ],
    edits: edit("seeWork", " * 2 ** Math.min(sends.losses, limits.lostDoublings)", ""),
  },
  {
    without: "an end of work that is always lost",
    rule: "judgement",
    killedBy: "few processes die of one piece of work",
    cases: [neverBegun],
    edits: edit(
      "judgements",
      "sends.losses + 1 >= limits.lostMax",
      "sends.losses + 1 >= 100 * limits.lostMax",
    ),
  },
  {
    without: "waiting for what queues show (all of it counts as taken)",
    rule: "observation",
    killedBy: "messages do not pile up",
    cases: ["nobody works for forty minutes"],
    edits: edit(
      "trackPacksTaken",
      "const shown = packs.firstPack.get(turnKey(state));",
      "const shown = packs.firstPack.size < 0 ? packs.firstPack.get(turnKey(state)) : undefined;",
    ).concat(edit("judgements", "({ queued }) => queued", "({ queued, sends }) => queued && sends.send < 0")),
  },
  {
    without: "a list of records before work counts as lost",
    rule: "judgement",
    killedBy: "hardly anything is computed twice",
    cases: ["what takes longer than planned goes to others in time, though the leader has taken it"],
    edits: edit(
      "judgements",
      "({ areFailuresListed }) => !areFailuresListed",
      "({ areFailuresListed, nowMs }) => !areFailuresListed && nowMs < 0",
    ).concat(edit("judgements", "!seen.isPoisonRead", "seen.nowMs < 0")),
  },
  {
    without: "a look for the node before its combine counts as lost",
    rule: "judgement",
    killedBy: "hardly anything is computed twice",
    cases: [onceOnly],
    edits: edit("judgements", "({ areNodesListed }) => !areNodesListed", "({ nowMs }) => nowMs < 0").concat(
      edit("judgements", "!seen.isPoisonRead", "seen.nowMs < 0"),
    ),
  },
  {
    without: "telling a list that failed from an empty one",
    rule: "storage time",
    killedBy: "fails only for a reason",
    cases: ["storage refuses the lists of a worker that folds, and nothing counts as missing"],
    edits: edit(
      "listOutputs",
      "for await (const page of pagesOf(storage.blobs, names.runs, prefix, { metadata: true })) yield* page.blobs;",
      "try {\n    for await (const page of pagesOf(storage.blobs, names.runs, prefix, { metadata: true })) yield* page.blobs;\n  } catch {}",
    ),
  },
  {
    without: "patience with slow work before the very end of a run",
    rule: "judgement",
    killedBy: "hardly anything is computed twice",
    cases: { seedsFrom: 3_000_000 },
    edits: edit("isSlow", "computes && last && sends.send", "computes && sends.send"),
  },
  {
    without: "a confirmed heartbeat before work that was sent before begins",
    rule: "observation",
    killedBy: "few processes die of one piece of work",
    cases: [kills],
    edits: edit("workerHeartbeats", "await inTurn(write);\n          entry.confirmed", "entry.confirmed"),
  },
  {
    without: "a heartbeat that is written again",
    rule: "observation",
    killedBy: "hardly anything is computed twice",
    cases: ["what takes longer than planned goes to others in time, though the leader has taken it"],
    edits: edit("workerHeartbeats", "? written.everyMs : 0;", "? 1_000_000 * written.everyMs : 0;"),
  },
  {
    without: "a window that grows when all of it was taken",
    rule: "judgement",
    killedBy: "every run ends in time",
    cases: ["more threads than the first window has packs for"],
    edits: edit("updateWindow", "const few = notes.drained ||", "const few ="),
  },
  {
    without: "an end of running work that nobody wants",
    rule: "wanted work",
    killedBy: "the scenario's own end",
    cases: ["a cancel frees the threads of long packs within five seconds"],
    edits: edit("runningWork", "if (why !== undefined) stop.abort(", "if (why === '') stop.abort("),
  },
];
