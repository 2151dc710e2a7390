import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AnyCalculation } from "../../../src/engine/calculation/contract.ts";
import { systemClock, systemRandom } from "../../../src/engine/storage/system.ts";
import { sound } from "../../../test/fixtures/lawFixtures.ts";
import { fileThere, writesFile } from "../../../test/support/fileThere.ts";
import { inlineCode } from "../../../test/worker/workerWorld.ts";
import { linesOf } from "../check/checkRows.ts";
import { checkLaws } from "../check/laws/checkLaws.ts";
import { memoryRun } from "../check/memoryRun.ts";
import { runAlone } from "./aloneCli.ts";
import { printed } from "./cliWorld.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-check-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Checks with the program's own threads a sum of chunk indexes, with these parts in place of its own. */
async function check(parts: string, line = "", signal = new AbortController().signal, first = "") {
  const file = `${Math.random().toString(36).slice(2)}.mjs`;
  await writeFile(
    join(folder, file),
    `import { threadId } from "node:worker_threads"; import { z } from "leasefold"; ${first}
     export default { name: "mine", summary: "a test", params: z.strictObject({ n: z.number().default(6) }),
       plan: ({ n }) => n, compute: ({ index }) => index, merge: (a, b) => a + b, zero: () => 0, ${parts} };`,
  );
  return run(`check ./${file} ${line}`, signal);
}

const run = (line: string, signal?: AbortSignal) => runAlone(line, folder, signal);

const hidesField =
  "compute: ({ index }) => Object.defineProperty({ n: index }, 'more', { value: 1 }), merge: (a, b) => ({ n: a.n + b.n + (a.more ?? 0) }), finish: (part) => part";

describe("leasefold check", () => {
  it("check refuses parameters that nest too deep to be handed on", async () => {
    const deep = `${"[".repeat(30_000)}${"]".repeat(30_000)}`;
    const { exitCode, err } = await check("params: z.object({ list: z.unknown() })", `--list ${deep}`);
    expect([exitCode, err]).toEqual([
      2,
      expect.stringMatching(/invalid --list: .*nested deeper than 100 levels/),
    ]);
  });

  it("check lists every law that holds, the engine last, within 80 columns", async () => {
    const { exitCode, out, err } = await check("");
    expect([exitCode, err]).toEqual([0, ""]);
    const lines = out.trimEnd().split("\n");
    expect(lines.filter((line) => line.startsWith("  ✓ ")).length).toBe(9);
    expect(out).toMatch(/✓ merge sees all in the bytes +5 nodes, fresh and decoded +\d+ ms$/m);
    expect(out).toMatch(/✓ distributed equals serial +6 chunks in 6 packs on 2 threads +\d/);
    expect(lines.at(-1)).toBe("mine: no law is broken on all 6 chunks");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("check --json has the parameters that it tried, also of a broken law", async () => {
    const { exitCode, out } = await check(hidesField, "--json");
    expect(exitCode).toBe(7);
    expect(JSON.parse(out).params).toEqual({ n: 6 });
    const big = "params: z.object({ n: z.coerce.bigint() }), plan: () => 6";
    expect(JSON.parse((await check(big, "--n 7 --json")).out)).toMatchObject({
      params: { n: 7 },
      broken: 1,
    });
  });

  it("check --json stays JSON although user code prints, which goes to standard error", async () => {
    const prints = (text: string) => `console.log("${text}"); process.stdout.write("${text}\\n")`;
    const parts =
      `compute() { ${prints("in compute")}; return 1; }, ` +
      `merge(a, b) { ${prints("in merge")}; return a + b; }, finish(a) { ${prints("in finish")}; return a; }`;
    const { exitCode, out, err } = await check(parts, "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ calculation: "mine", broken: 0 });
    for (const text of ["in compute", "in merge", "in finish"]) expect(err).toContain(text);
  });

  it("check prints all that user code writes in the thread of the laws, which is terminated at the end", async () => {
    const calls = join(folder, "calls");
    const long = 'for (let line = 0; line < 300; line += 1) process.stdout.write("-".repeat(500) + "\\n");';
    const parts = `finish(sum) { appendFileSync(${JSON.stringify(calls)}, threadId + "\\n"); ${long} process.stdout.write("the end\\n"); return sum; }`;
    const first = 'import { appendFileSync } from "node:fs";';
    const { exitCode, err } = await check(parts, "--json", undefined, first);
    expect(exitCode).toBe(0);
    const threads = (await readFile(calls, "utf8")).trim().split("\n");
    // The threads of the engine, which come after, print for themselves.
    expect(err.match(/the end/g)).toHaveLength(threads.filter((one) => one === threads[0]).length);
  });

  it("check blames nothing else where a chunk prints 100 MB", async () => {
    const floods =
      'compute() { for (let line = 0; line < 100_000; line += 1) console.log("x".repeat(999)); return 1; }';
    const { exitCode, out, err } = await check(floods, "--chunks 2 --json");
    expect(JSON.parse(out)).toMatchObject({ broken: 0 });
    expect(exitCode).toBe(0);
    expect(err).toContain("the rest is left out");
    expect(err.length).toBeLessThan(1_100_000);
  });

  it.each([
    ["({ sum, at: [new Date(0)] })", 'at[0] is a Date, which becomes "1970-01-01T00:00:00.000Z"'],
    ["[sum, undefined, () => 1]", "[1] is undefined, which becomes null, and 1 more values change"],
  ])("check says what JSON changes in a result that breaks no law: %s", async (result, text) => {
    const { exitCode, out } = await check(`finish: (sum) => ${result}`, "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(out).laws).toContainEqual(
      expect.objectContaining({ law: "result", outcome: "advice", text: expect.stringContaining(text) }),
    );
  });

  it("check explains a broken law by its smallest example, with exit code 7", async () => {
    const { exitCode, out } = await check(hidesField, "--n 5");
    expect(exitCode).toBe(7);
    expect(out.slice(out.indexOf("✗")).replace(/ +\d+ ms$/gm, "")).toBe(
      `✗ merge sees all in the bytes
      chunks 0–1: decoded partials merge unlike fresh ones
        fresh    {"n":2}
        decoded  {"n":1}
      likely  a partial has something that its bytes do not have, such as a
              method, a hidden field or a shared object
      fix     encode everything that merge uses, and give each chunk a partial
              of its own
  · partials stay under 32 MB     not tried; needs: merge sees all in the bytes
  · finish is deterministic       not tried; needs: merge sees all in the bytes
  · distributed equals serial     not tried; needs every law above
mine: 1 broken, 3 not tried
`,
    );
  });

  it("check names a chunk that throws, and tries the engine on the others, with gaps", async () => {
    const throws = "compute({ index }) { if (index === 2) throw new Error('a bad row'); return index; }";
    const { exitCode, out } = await check(throws);
    expect(exitCode).toBe(7);
    expect(out).toMatch(/✗ compute is deterministic +\d+ ms\n {6}chunk 2: a bad row \(\w+\.mjs:\d+\)\n/);
    expect(out).toMatch(/✓ distributed equals serial +5 of 6 chunks in 6 packs on 2 threads/);
    expect(out).toMatch(/mine: 1 broken\n$/);
  });

  it("check reads a folder of this machine as the source, without storage, and says so where none is given", async () => {
    await mkdir(join(folder, "texts"), { recursive: true });
    for (const name of ["a", "b", "c"]) await writeFile(join(folder, "texts", name), name.repeat(5));
    const file = join(folder, "sizes.mjs");
    await writeFile(
      file,
      `import { defineCalculation, z } from "leasefold";
       export default defineCalculation({ name: "sizes", summary: "", params: z.strictObject({ source: z.string() }),
         plan: ({ source }, { files }) => files.list(source),
         async compute({ input, files }) { let n = 0; for await (const bytes of files.read(input)) n += bytes.length; return n; },
         merge: (a, b) => a + b, zero: () => 0 });`,
    );
    const { exitCode, out } = await run("check ./sizes.mjs --folder texts");
    expect([exitCode, out]).toEqual([0, expect.stringContaining("3 chunks in 3 packs on 2 threads")]);
    expect((await run("check ./sizes.mjs")).err).toBe(
      "leasefold: invalid --source: must be given; submit --upload FOLDER uploads it, check and try --folder FOLDER read one of this machine\n",
    );
    expect((await run("check ./sizes.mjs --folder none")).err).toMatch(
      /invalid --folder: cannot read the folder none: no such/,
    );
  });

  const advice = (out: string): string[] =>
    out
      .replace(/\n {34}/g, " ")
      .split("\n")
      .filter((line) => /^ {2}! (random numbers|bits of Math|the clock)/.test(line));

  it("check warns of Math.random and of functions whose last bit may differ, and who calls them", async () => {
    const { exitCode, out } = await check(
      "compute: ({ index }) => Math.round(Math.exp(index)) + Math.floor(Math.random()), finish: (sum) => Math.round(Math.log(1 + sum))",
    );
    expect(exitCode).toBe(0);
    expect(advice(out)).toEqual([
      '  ! random numbers                compute calls Math.random, which no other attempt repeats: use randomStream(seed, index) of "leasefold"',
      '  ! bits of Math                  compute and finish call Math.exp, Math.log, whose last bit may differ between versions of the engine: use portableMath of "leasefold"',
    ]);
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("check names the package that calls what no attempt repeats, and the user's line that leads there", async () => {
    const dicey = join(folder, "node_modules/@some/dicey");
    await mkdir(dicey, { recursive: true });
    await writeFile(join(dicey, "package.json"), '{ "type": "module", "exports": "./index.js" }');
    await writeFile(
      join(dicey, "index.js"),
      `import { randomUUID } from "node:crypto";
       export const roll = (x) => x + Math.floor(Math.random()) + randomUUID().length;
       export const stamp = () => [new Date(), Date.now(), new Date(0)].length && Date.now();`,
    );
    const first = 'import { roll, stamp } from "@some/dicey";';
    const { exitCode, out } = await check("compute: ({ index }) => roll(index)", "", undefined, first);
    expect([exitCode, advice(out)]).toEqual([
      0,
      [
        expect.stringMatching(
          /compute calls Math\.random, crypto\.randomUUID in the package @some\/dicey \(\w+\.mjs:\d\), which no other/,
        ),
      ],
    ]);
    const late = await check("compute: ({ index }) => index + stamp()", "", undefined, first);
    expect([late.exitCode, advice(late.out)]).toEqual([
      7,
      [expect.stringMatching(/the clock +compute calls new Date, Date\.now in the package @some\/dicey \(/)],
    ]);
  });

  it("check says nothing of a clock that breaks no law, and dates stay dates", async () => {
    const { exitCode, out } = await check(
      "compute({ index }) { const at = new Date(); return index + Number(at instanceof Date && at.constructor === Date && Date.now() > 0 && typeof Date() === 'string'); }",
      "--n 4",
    );
    expect([exitCode, advice(out)]).toEqual([0, []]);
    expect(out).toContain("no law is broken");
  });

  it("check finds x ** y in the text of the file and of its helpers, but no comment, text, square or whole power", async () => {
    await writeFile(join(folder, "helper.mjs"), "export const grown = (x, y) => x ** y;");
    const helped = await check(
      `compute: async ({ index }) => { const { grown } = await import("./helper.mjs"); return grown(index, 2); }`,
    );
    // What compute imports is in the graph as soon as a check has run it.
    expect(advice(helped.out)).toEqual([
      expect.stringContaining("helper.mjs has x ** y, which is Math.pow,"),
    ]);
    const { out } = await check("compute: ({ index }) => Math.round(index ** 1.5)");
    expect(advice(out)).toEqual([
      expect.stringMatching(/\.mjs has x \*\* y, which is Math\.pow, whose last bit/),
    ]);
    const none = await check(
      "/** a ** b */ compute: ({ index }) => index ** 2 + 2 ** 10 + '**'.length + `${1}**`.length // x ** y\n",
    );
    expect([none.exitCode, advice(none.out)]).toEqual([0, []]);
  });

  it("check warns of nothing where numbers are keyed and functions portable", async () => {
    const { exitCode, out } = await check(
      `compute: async ({ index }) => { const { portableMath, randomStream } = await import("leasefold");
         return Math.floor(9 * randomStream(1, index).uniform() + portableMath.exp(1) + Math.sqrt(index)); }`,
    );
    expect(exitCode).toBe(0);
    expect(advice(out)).toEqual([]);
  });

  it.each(["primes --to 1e6", "queens/queens.ts --n 8", "options/options.ts --paths 2e5"])(
    "check warns of nothing in %s",
    async (line) => {
      const file = line.includes("/") ? `${join(import.meta.dirname, "../../../examples")}/` : "";
      const { exitCode, out } = await run(`check ${file}${line} --chunks 8`);
      expect([exitCode, advice(out)]).toEqual([0, []]);
    },
  );

  it("check --json reports chunks that differ between threads, which only the engine finds", async () => {
    const { exitCode, out } = await check("compute: ({ index }) => index + 1000 * threadId", "--json");
    expect(exitCode).toBe(7);
    const report = JSON.parse(out);
    expect(report).toMatchObject({
      calculation: "mine",
      params: { n: 6 },
      count: 6,
      // On a busy machine fewer than all are tried in the time that a law has.
      chunks: expect.any(Number),
      broken: 1,
    });
    expect(report.laws.filter((row: { outcome: string }) => row.outcome === "broken")).toMatchObject([
      {
        law: "engine",
        breach: { example: expect.stringMatching(/on 2 threads give another result than in one$/) },
      },
    ]);
  });

  it.each([
    ["never returns", "while (index === 3);", "compute of chunk 3 has not ended after 1 s", 1],
    ["ends its thread", "if (index === 3) process.exit(0);", "compute of chunk 3 ended its thread", 20],
    [
      "takes too much memory outside the heap",
      "if (index === 3) for (const taken = new Uint8Array(700e6); taken.length > 0; );",
      "compute of chunk 3 needs more than the 512 MB of a thread",
      20,
    ],
  ])("names the call that %s", async (_what, code, message, limitS) => {
    const { exitCode, out } = await check(`compute({ index }) { ${code} return 1 }`, `--limit ${limitS}`);
    expect(exitCode).toBe(7);
    expect(out).toMatch(/✗ every call comes back\n/);
    expect(out).toContain(message);
  });

  it("Ctrl-C ends check although user code never returns", async () => {
    const interrupt = new AbortController();
    const began = join(folder, "began");
    const checking = check(`merge() { ${writesFile(began)} for (;;); }`, "", interrupt.signal);
    await fileThere(began);
    interrupt.abort();
    expect((await checking).exitCode).toBe(130);
  });

  it.each([
    ["check", "missing required argument"],
    ["check ./nothing.ts", "there is no calculation file"],
    ["check nothing", 'or give its file, such as "leasefold check ./mine.ts"'],
    ["check primes --to 1e20", "invalid --to: 1e20: must be at most"],
    ["check primes --chunks 0", "invalid --chunks: 0: must be at least 1"],
  ])("%s is refused on one line with exit code 2", async (line, message) => {
    const { exitCode, out, err } = await run(line);
    expect([exitCode, out, err.split("\n").length]).toEqual([2, "", 2]);
    expect(err).toContain(message);
  });
});

describe("a row of a check", () => {
  it("a row contains no control characters and fits the columns", () => {
    const breach = {
      example: `chunk 0: ${"long words ".repeat(20)}`,
      sides: [
        { name: "once", value: `\u001b[31m${"x".repeat(200)}` },
        { name: "again", value: "y" },
      ],
      likely: "z".repeat(200),
      cure: "none",
    } as const;
    const row = {
      law: "compute",
      says: "compute is deterministic",
      outcome: "broken",
      text: "",
      breach,
    } as const;
    const lines = linesOf(row, printed());
    expect(lines.join("\n")).not.toContain("\u001b");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
  });
});

describe("the engine on in-memory storage", () => {
  const account = (calculation: AnyCalculation, params: unknown, chunks: number) =>
    memoryRun({
      ...{ calculation: calculation.name, params, chunks, code: inlineCode(calculation) },
      ...{ clock: systemClock, random: systemRandom, packLimitMs: 10_000 },
      signal: new AbortController().signal,
    });
  const listed: AnyCalculation = {
    ...sound,
    plan: ({ chunks }) => Array.from({ length: chunks }, (_, at) => ({ at })),
    compute: ({ index, count, input }) => `${index}/${count}:${input.at} `,
    merge: (a, b) => a + b,
    zero: () => "",
    finish: (text, { folded, count }) => ({ text, folded, count }),
  };

  it("the engine computes the serial result of the first chunks of a list, through a tree of nodes", async () => {
    const { result } = await checkLaws(listed, { chunks: 90 }, { chunks: 60 });
    const ended = await account(listed, { chunks: 90 }, 60);
    expect(ended).toMatchObject({ kind: "result", packs: 20 });
    if (ended.kind === "result") expect(Buffer.from(ended.body)).toEqual(Buffer.from(result?.body ?? []));
    expect(JSON.parse(Buffer.from(result?.body ?? []).toString())).toMatchObject({ folded: 60, count: 90 });
  });
});
