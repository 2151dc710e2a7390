import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { report } from "../../../src/app/api/report.ts";
import { status } from "../../../src/engine/client/status.ts";
import { submit } from "../../../src/engine/client/submit.ts";
import type { Manifest } from "../../../src/engine/model/run.ts";
import { runBlobs } from "../../../src/engine/model/runBlobs.ts";
import type { State } from "../../../src/engine/model/state.ts";
import { clientWorld, names } from "../../../test/client/clientWorld.ts";

const layout = { chunks: 10, packSize: 2, shardSize: 256, fanIn: 1_000, packMs: 1 };
const hostile = `"'><img src=x onerror=alert(1)><script>alert(2)</script></style>\u202e`;

/** A run as its leader and workers left it, and its report. */
async function reported(
  given: {
    label?: string;
    state?: Partial<State>;
    result?: string;
    manifest?: Partial<Manifest>;
    failure?: string;
  } = {},
) {
  const world = await clientWorld();
  const { client, putState, putResult, storage } = world;
  const run = await submit(client, {
    calculation: "sum",
    params: { to: 10, label: given.label ?? "x" },
    id: "r1",
  });
  const atMs = client.clock.wallMs();
  const done = Buffer.from([0b0001_1111]).toString("base64url");
  await putState(run, {
    ...{ phase: "complete", layout, cursor: 5, packsDone: 5, chunksDone: 10, finishedMs: atMs + 60_000 },
    open: { 0: { done } },
    ...{
      durationsMs: [10, 20, 4_000],
      calls: { write: 5, list: 2, read: 1, other: 0, queue: 12, delete: 0 },
    },
    terms: [{ term: 3, holder: given.label ?? "node-1", atMs: atMs + 1_000 }],
    progress: {
      ...{ generation: 1, turn: 0 },
      marks: [
        { atMs: atMs + 2_000, ended: 0, computeMs: 0 },
        { atMs: atMs + 50_000, ended: 5, computeMs: 9 },
      ],
    },
    ...given.state,
  });
  if (given.result !== undefined) await putResult(run, given.result, given.manifest);
  if (given.failure !== undefined) {
    const record = {
      v: 1,
      cause: "error",
      code: "calculation-threw",
      message: given.failure,
      attempts: 5,
      chunks: { from: 4, to: 6 },
    };
    const name = runBlobs("r1", run.uid).failure({ kind: "pack", shard: 0, pack: 2 }, 1, 1);
    await storage.blobs.create(names.runs, name, JSON.stringify(record));
  }
  return { ...world, page: await report(client, "r1") };
}

/** The names of all elements in the page, and of all attributes. */
const elements = (page: string) => new Set([...page.matchAll(/<([a-z][\w-]*)/gi)].map(([, name]) => name));
const attributes = (page: string) =>
  new Set(
    [...page.matchAll(/<[a-z][^>]*>/gi)].flatMap(([tag]) =>
      [...tag.matchAll(/\s([\w-]+)="/g)].map(([, name]) => name),
    ),
  );

describe("the report of a run", () => {
  it("has header, progress, packs, durations, failures, cost, result, request and manifest", async () => {
    const { page } = await reported({ result: `{"sum":45,"of":"<all>"}`, failure: "chunk 4: boom 7" });
    const titles = [...page.matchAll(/<h2[^>]*>([^<]+)<\/h2>/g)].map(([, title]) => title);
    expect(titles).toEqual([
      ...["Progress and leaders", "Packs", "Durations of packs", "Failures", "Cost"],
      ...["Result", "Request", "Manifest"],
    ]);
    expect(page).toContain("<h1>r1</h1>");
    expect(page).toMatch(/<dt>took<\/dt><dd>1 min<\/dd>/);
    expect(page).toMatch(/<dt>packs<\/dt><dd>5 \/ 5<\/dd>/);
    expect(page).toContain("chunk 4: boom 7");
    expect(page).toContain("<dt>sum</dt><dd>45</dd>");
    expect(page).toContain("&lt;all>");
    expect(page).toMatch(/Dollars<\/th><td class="number">\$0\.\d{4}</);
    expect(page).not.toContain("has not ended");
  });

  it("tells time, calls and cost of each generation and of all", async () => {
    const calls = { write: 5, list: 2, read: 1, other: 0, queue: 12, delete: 0 };
    const cost = { dollars: 0.5, storageDollars: 0.1, computeDollars: 0.4, gbS: 9, executions: 3 };
    const { page, client } = await reported({
      state: {
        ...{ generation: 2, retriedMs: 0, maxCost: 5 },
        earlier: [{ generation: 1, tookMs: 30_000, calls, cost }],
      },
    });
    const { generations = [], elapsedS } = await status(client, "r1");
    expect(page).toContain("Generation 1: 30 s, 20 calls, about $0.5000");
    expect(page).toMatch(/Generation 2: [^<]+ calls, about \$0\.\d{4}</);
    expect(generations.reduce((sum, one) => sum + one.elapsedS, 0)).toBe(elapsedS);
    expect(page).toMatch(/Dollars<\/th><td class="number">\$0\.5\d{3}</);
    expect(page).toMatch(/Max cost<\/th><td class="number">\$5\.0000</);
    expect(page).toContain("2 generations");
  });

  it("runs no script, fetches nothing, and says so in a policy whose hash fits its style", async () => {
    const { page } = await reported({ result: "45" });
    expect(elements(page)).not.toContain("script");
    for (const name of ["link", "iframe", "object", "embed", "form", "base", "foreignObject", "a"])
      expect(elements(page)).not.toContain(name);
    expect([...attributes(page)].filter((name) => /^on|^style$|href|^src$/.test(name ?? ""))).toEqual([]);
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/
      .exec(page)?.[1]
      ?.replaceAll("&#39;", "'");
    const css = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? "";
    const hash = createHash("sha256").update(css).digest("base64");
    expect(policy).toBe(
      `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`,
    );
    expect(css).not.toMatch(/url\(|@import/);
  });

  it("says in text what its pictures show", async () => {
    const { page } = await reported();
    const pictures = [...page.matchAll(/<svg[^>]*>/g)].map(([tag]) => tag);
    const silent = pictures.filter((tag) => !/aria-hidden="true"|role="img" aria-label="[^"]{10,}/.test(tag));
    expect([pictures.length > 3, silent]).toEqual([true, []]);
    expect(page).toContain("Progress over time: 5 of 5 packs ended; 1 term and 0 gaps without a leader");
  });

  it.each([
    ["parameters and leaders", { label: hostile }],
    ["an error", { failure: hostile, state: { phase: "failed", error: { code: "x", message: hostile } } }],
    ["a result in JSON", { result: JSON.stringify({ [hostile]: hostile }) }],
    ["rows in JSON", { result: JSON.stringify([{ [hostile]: hostile }]) }],
    [
      "a result in CSV",
      { result: `a,b\n"${hostile.replaceAll('"', '""')}",2\n`, manifest: { contentType: "text/csv" } },
    ],
    ["a text", { result: hostile, manifest: { contentType: "text/plain" } }],
    ["a page as a result", { result: hostile, manifest: { contentType: "text/html" } }],
    ["a picture that is none", { result: hostile, manifest: { contentType: "image/png" } }],
    ["a drawing", { result: `<svg onload="x">${hostile}`, manifest: { contentType: "image/svg+xml" } }],
  ] as const)("shows %s as text, whatever it is", async (_what, given) => {
    const plain = await reported({ result: "45" });
    const { page } = await reported(given as Parameters<typeof reported>[0]);
    const known = [
      ...elements(plain.page),
      "code",
      "div",
      "pre",
      "img",
      "p",
      "b",
      "strong",
      "li",
      "details",
      "summary",
      "table",
      "tbody",
    ];
    expect([...elements(page)].filter((name) => !known.includes(name ?? ""))).toEqual([]);
    expect([...attributes(page)].filter((name) => /^on/.test(name ?? ""))).toEqual([]);
    expect(page).not.toMatch(/<script|<img src=x|\u202e/);
    // One style element, closed once, so that no text of the run got out of or into it.
    expect(page.match(/<\/style>/g)).toHaveLength(1);
    expect(
      [...page.matchAll(/<img[^>]*>/g)].filter(([tag]) => !tag.includes('src="data:image/png;base64,')),
    ).toEqual([]);
  });

  it("of a run that goes on says so, and what is not known yet", async () => {
    const { page } = await reported({
      state: {
        phase: "computing",
        finishedMs: undefined,
        cursor: 5,
        packsDone: 1,
        chunksDone: 2,
        open: { 0: { done: "AQ" } },
      } as never,
    });
    expect(page).toContain("This run has not ended.");
    expect(page).toContain("The run has no result yet.");
    expect(page).toContain("<b>20 %</b> of the packs have ended");
    expect(page).toContain("<dt>led by</dt><dd>node-1");
    expect(page).not.toContain(">Manifest</h2>");
  });

  it.each(['{"n":9007199254740993}', '[{"n":9007199254740993}]', '{"n":[{"m":9007199254740993}]}'])(
    "shows the digits of the result %s, which no double holds",
    async (result) => {
      expect((await reported({ result })).page.replaceAll(",", "")).toMatch(/[^"\d]9007199254740993[^"\d]/);
    },
  );

  it("names gaps, and holds a bounded part of a large result", async () => {
    const missing = [{ from: 4, to: 6 }];
    const { page } = await reported({
      state: {
        chunksFailed: 2,
        chunksDone: 8,
        packsDone: 4,
        packsFailed: 1,
        open: { 0: { done: "Gw", failed: "BA" } },
      } as never,
      result: `line\n`.repeat(100_000),
      manifest: { complete: false, missing, folded: 8, contentType: "text/plain" },
    });
    expect(page).toContain("The result lacks 2 of 10 chunks");
    expect(page).toContain("1 pack is missing: the run ended without it.");
    expect(page).toContain("No preview of this type or size; download it to read it.");
    expect(page.length).toBeLessThan(120_000);
  });

  it("says of an older result which generation it is of, and how the newest ended", async () => {
    const older = { generation: 1, chunks: 12, folded: 9, complete: false, missing: [{ from: 0, to: 3 }] };
    const state = { phase: "cancelled", generation: 2 } as const;
    const { page } = await reported({ result: "45", state, manifest: older });
    expect(page).toContain("This result is of generation 1; generation 2 was cancelled.");
    expect(page).toContain('<span class="dim">generation 1</span>');
    expect(page).toContain("The result lacks 3 of 12 chunks");
    const newest = await reported({ result: "45", state: { phase: "complete" } });
    expect(newest.page).not.toContain("of generation 1");
  });
});
