import type { RecordedCall } from "./recorder.ts";

/** A moment of a run, in ms since the call of `submit`, and what the time before it went to. */
export interface Milestone {
  readonly name: string;
  readonly atMs: number;
  /** `poll`: mostly waiting until somebody looks. `calls`: round trips and computing. */
  readonly mostly: "poll" | "calls";
}

/** Kind of the work message in a body or answer; `wake` for a wake. */
const kindIn = (text: string): string | undefined => /kind(?:&quot;|"):(?:&quot;|")(\w+)/.exec(text)?.[1];

const isPut = (call: RecordedCall, pattern: RegExp): boolean =>
  call.method === "PUT" && call.status === 201 && pattern.test(call.path);
const sends = (call: RecordedCall, kind: string): boolean =>
  call.method === "POST" && call.path.includes("/messages") && kindIn(call.body) === kind;
const takes = (call: RecordedCall, kind: string): boolean =>
  call.method === "GET" && call.path.includes("/messages?") && kindIn(call.answer) === kind;

interface Step {
  readonly name: string;
  readonly mostly: Milestone["mostly"];
  readonly ends: (call: RecordedCall) => boolean;
  /** The last such call counts, not the first after the step before. */
  readonly last?: true;
}

/** The story of a run without combines: each step begins where the one before ends. */
const steps: readonly Step[] = [
  { name: "spec and marker written", mostly: "calls", ends: (call) => isPut(call, /-active\//) },
  {
    name: "an instance asks who leads",
    mostly: "poll",
    ends: (call) => call.method === "HEAD" && /\/leader$/.test(call.path),
  },
  {
    name: "lease acquired",
    mostly: "calls",
    ends: (call) => isPut(call, /\/leader\?comp=lease/),
  },
  { name: "state begun", mostly: "calls", ends: (call) => isPut(call, /state\.json$/) },
  { name: "plan sent", mostly: "calls", ends: (call) => sends(call, "plan") },
  { name: "plan taken", mostly: "poll", ends: (call) => takes(call, "plan") },
  { name: "planned", mostly: "calls", ends: (call) => isPut(call, /plan\.json/) },
  { name: "first pack sent", mostly: "poll", ends: (call) => sends(call, "compute") },
  { name: "first pack taken", mostly: "poll", ends: (call) => takes(call, "compute") },
  { name: "last pack computed", mostly: "calls", ends: (call) => isPut(call, /\/parts\//), last: true },
  { name: "finish sent", mostly: "poll", ends: (call) => sends(call, "finish") },
  { name: "finish taken", mostly: "poll", ends: (call) => takes(call, "finish") },
  { name: "result and manifest written", mostly: "calls", ends: (call) => isPut(call, /manifest\.json/) },
];

/** The milestones of one run; undefined if a step is missing, as where somebody was leading already. */
export function storyOf(calls: readonly RecordedCall[], startMs: number): readonly Milestone[] | undefined {
  const ordered = [...calls].sort((a, b) => a.toMs - b.toMs);
  let from = startMs;
  const story: Milestone[] = [];
  for (const { name, mostly, ends, last } of steps) {
    const after = ordered.filter((call) => call.toMs >= from && ends(call));
    const end = last ? after.at(-1) : after[0];
    if (end === undefined) return undefined;
    from = end.toMs;
    story.push({ name, mostly, atMs: end.toMs - startMs });
  }
  return story;
}
