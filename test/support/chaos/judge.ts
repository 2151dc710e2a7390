import { type Growth, growthOf, type Held } from "./growth.ts";
import type { LeftOver } from "./leftovers.ts";
import type { EndedRun } from "./runs.ts";

/** What a run of chaos has shown. */
export interface Evidence {
  readonly calm: readonly EndedRun[];
  readonly calmMs: ReadonlyMap<string, number>;
  readonly runs: readonly EndedRun[];
  readonly left: LeftOver;
  readonly held: readonly Held[];
  /** Messages that dead processes and lost answers may have left hidden. */
  readonly inHand: number;
}

export interface Verdict {
  readonly rows: readonly Readonly<Record<string, string | number>>[];
  readonly figures: Readonly<Record<string, number>>;
  readonly goals: readonly { readonly goal: string; readonly met: boolean }[];
}

/** What a process may hold more at the end: the noise of its own garbage, and connections that come and go. */
const growthMax = { residentMb: 24, handles: 8 };

export function verdictOf(evidence: Evidence): Verdict {
  const { calm, runs, left, held, inHand } = evidence;
  const growth = growthOf(held);
  const wanted = new Map(calm.map(({ shape, result }) => [shape, result]));
  const wrong = [...calm, ...runs].filter(
    (one) => one.phase === "complete" && one.result !== wanted.get(one.shape),
  );
  const unended = [...calm, ...runs].filter((one) => one.phase !== "complete" || one.ms > one.limitMs);
  const goal = (text: string, breaches: readonly string[]) => ({
    goal: breaches.length === 0 ? text : `${text}: ${breaches.slice(0, 8).join("; ")}`,
    met: breaches.length === 0,
  });
  const toldRun = ({ id, phase, ms, result }: EndedRun): string =>
    `${id} is ${phase} after ${seconds(ms)} s (${result.slice(0, 80)})`;
  return {
    rows: rowsOf(evidence, growth),
    figures: figuresOf(evidence, growth),
    goals: [
      goal("runs were disturbed", runs.length === 0 ? ["there were none"] : []),
      goal("the bytes of each result are those of the undisturbed run", wrong.map(toldRun)),
      goal(
        "each run completes within 60 s beyond its undisturbed time (on a busy machine half as long again)",
        unended.map(toldRun),
      ),
      goal("storage holds nothing but results and what docs/ARCHITECTURE.md lets stay", [
        ...left.undocumented,
        ...(left.visible === 0
          ? []
          : [`${left.visible} messages that anyone can receive in ${left.visibleIn.join(", ")}`]),
        ...(left.hidden <= inHand
          ? []
          : [`${left.hidden} hidden messages, but ${inHand} were in dead hands`]),
        ...(left.uncleaned.length === 0 || left.hidden > 0 ? [] : left.uncleaned),
      ]),
      goal("no process grows", [
        ...(growth.residentMb > growthMax.residentMb ? [`${growth.residentMb.toFixed(0)} MB more`] : []),
        ...(growth.handles > growthMax.handles ? [`${growth.handles} handles more`] : []),
      ]),
    ],
  };
}

/** For each shape the worst of its runs. */
function rowsOf({ calmMs, runs, left }: Evidence, growth: Growth): Verdict["rows"] {
  const shapes = Map.groupBy(runs, ({ shape }) => shape);
  const rows = [...shapes].map(([shape, of]) => {
    const calm = calmMs.get(shape) ?? Number.NaN;
    const worst = Math.max(...of.map(({ ms }) => ms));
    return {
      what: `${shape}: ${of.length} runs`,
      undisturbed: `${seconds(calm)} s`,
      worst: `${seconds(worst)} s`,
      beyond: `${seconds(worst - calm)} s of ${seconds((of[0]?.limitMs ?? 0) - calm)}`,
    };
  });
  const row = (what: string, worst: string | number) => ({ what, undisturbed: "", worst, beyond: "" });
  return [
    ...rows,
    row("left: undocumented blobs; of clean-ups that wait; written late", counts(left)),
    row("left: messages that can be received; hidden in dead hands", `${left.visible}; ${left.hidden}`),
    row("an instance at most", `${growth.mostMb.toFixed(0)} MB; ${growth.mostHandles} handles`),
    row("its growth", `${growth.residentMb.toFixed(1)} MB; ${growth.handles} handles`),
  ];
}

const counts = ({ undocumented, uncleaned, late }: LeftOver): string =>
  [undocumented, uncleaned, late].map((one) => one.length).join("; ");

function figuresOf({ calmMs, runs, left }: Evidence, growth: Growth): Verdict["figures"] {
  const beyond = runs.map(({ shape, ms }) => ms - (calmMs.get(shape) ?? Number.NaN));
  return {
    ...{ runs: runs.length, beyondS: Math.max(...beyond) / 1_000 },
    ...{ undocumented: left.undocumented.length, late: left.late.length, hidden: left.hidden },
    ...{ grownMb: growth.residentMb, grownHandles: growth.handles, mostMb: growth.mostMb },
  };
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
