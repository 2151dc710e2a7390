import { runBlobs, specBlob } from "../../src/engine/model/runBlobs.ts";
import { documentHash, requestHashOf } from "../../src/engine/model/storedSpec.ts";

/** Documents as somebody writes them who may create markers and specs, and knows what hurts whoever reads them. */

interface Forged {
  readonly name: string;
  readonly body: string;
  readonly metadata: Readonly<Record<string, string>>;
}

/** Beyond every date, and below the largest whole number that JSON keeps. */
const noDate = "9000000000000000";
const levels = 20_000;
const deep = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

const request = { calculation: "ranges", params: { chunks: 2, list: false }, cap: 1 };
const schedule = { v: 1, cron: "* * * * *", timeZone: "UTC", overlap: "allow", request };
const body = (name: string) => JSON.stringify({ ...schedule, name });
const due = { v: "1", next: "0" };

/** Each is one unreadable entry, but for what is only late. */
export const forgedSchedules: readonly Forged[] = [
  { name: "next", body: body("next"), metadata: { v: "1", next: noDate } },
  { name: "last", body: body("last"), metadata: { ...due, last: noDate } },
  { name: "skipped", body: body("skipped"), metadata: { ...due, skipped: noDate } },
  { name: "deep", body: body("deep").replace('{"chunks":2,"list":false}', deep), metadata: due },
  { name: "other", body: body("s"), metadata: due },
  { name: "night$(id)", body: body("night"), metadata: due },
  { name: "a/b", body: body("a"), metadata: due },
  { name: "x".repeat(900), body: body("x"), metadata: due },
  { name: "torn", body: "{", metadata: due },
  { name: "long", body: body("long").replace("* * * * *", `${"1,".repeat(2_000)}1 * * * *`), metadata: due },
  { name: "bare", body: body("bare"), metadata: {} },
];

/** Runs of which a document does not decode. No leader ends one that is paused. */
export function forgedRuns(
  want: "paused" | "run" = "paused",
): readonly { readonly run: string; readonly files: readonly Forged[] }[] {
  const uid = "u1u1u1u1u1u1";
  const specOf = (run: string, more: object = {}) => {
    const spec = { v: 1, run, uid, calculation: "sum", params: { to: 6 }, ...more };
    return JSON.stringify({ ...spec, requestHash: requestHashOf(spec as never) });
  };
  const runOf = (
    run: string,
    spec: string,
    more: Record<string, string> = {},
    files: readonly Forged[] = [],
  ) => {
    const marker = { v: "1", uid, want, generation: "1", cap: "5", turn: "1", command: "1" };
    const named = { ...marker, spec: documentHash(spec), ...more };
    return {
      run,
      files: [
        { name: specBlob(run), body: spec, metadata: {} },
        { name: run, body: "", metadata: named },
        ...files,
      ],
    };
  };
  const state = (run: string, change: string) => ({
    name: runBlobs(run, uid).state,
    body: change,
    metadata: {},
  });
  return [
    runOf("far-deadline", specOf("far-deadline", { deadline: { ms: 9e15, keep: false } })),
    runOf("deep-params", specOf("deep-params").replace('{"to":6}', deep)),
    runOf("deep-given", specOf("deep-given").replace('{"to":6}', `{"to":6},"given":${deep}`)),
    runOf("no-date", specOf("no-date"), { rests: "1", until: noDate }),
    runOf("no-cap", specOf("no-cap"), { cap: "1e99" }),
    runOf("torn-spec", "{"),
    runOf("long-spec", specOf("long-spec", { code: "x".repeat(2_000_000) })),
    runOf("torn-state", specOf("torn-state"), {}, [state("torn-state", "{")]),
    runOf("deep-state", specOf("deep-state"), {}, [state("deep-state", deep)]),
  ];
}
