import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { submit } from "../../../src/engine/client/submit.ts";
import { runBlobs } from "../../../src/engine/model/runBlobs.ts";
import { clientWorld, names } from "../../../test/client/clientWorld.ts";
import { planOf } from "../../../test/support/runFixtures.ts";
import { recordedChunk } from "../try/tryChunk.ts";

const main = join(import.meta.dirname, "../main.ts");
const program = `process.exitCode = await (await import(${JSON.stringify(main)})).main(process.argv.slice(1));`;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-try-"));
  await writeFile(
    join(folder, "mine.mjs"),
    `import { z } from "leasefold";
     export default { name: "mine", summary: "a test", params: z.object({ bad: z.coerce.number().default(-1), hangs: z.coerce.boolean().default(false), ends: z.string().default("") }),
       plan: () => [10, 20, 30],
       compute({ index, input, params }) {
         console.log("seen", input);
         if (index === params.bad) throw new Error("no good");
         if (params.hangs) for (;;);
         if (params.ends === "floats") void Promise.reject(new Error("lost"));
         if (params.ends === "waits") return new Promise(() => {});
         if (params.ends === "exits") process.exit(3);
         return input + 1;
       },
       merge: (a, b) => a + b, zero: () => 0 };`,
  );
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** `onError` gets all that was written on standard error so far. */
async function run(
  line: string,
  onError: (text: string, end: (signal?: NodeJS.Signals) => void) => void = () => {},
) {
  const args = ["--input-type=module", "-e", program, "--", ...line.split(" ")];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let [out, err] = ["", ""];
  child.stdout.on("data", (piece) => {
    out += piece;
  });
  child.stderr.on("data", (piece) => {
    err += piece;
    onError(err, (signal = "SIGINT") => child.kill(signal));
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.once("close", (...ended) => resolve(ended)),
  );
  return { code, signal, out, err };
}

test("one chunk is computed here, and what it prints is seen beside the answer", async () => {
  const { code, out, err } = await run("try ./mine.mjs --chunk 2 --json --profile out.cpuprofile");
  expect([code, err.trim()]).toEqual([0, "seen 30"]);
  const told = { calculation: "mine", index: 2, count: 3, input: 30, partial: 31, fileBytes: 0 };
  expect(JSON.parse(out)).toMatchObject(told);
  const profile = JSON.parse(await readFile(join(folder, "out.cpuprofile"), "utf8"));
  expect(profile.nodes.length).toBeGreaterThan(0);
});

test("--folder gives a calculation the files of this machine, and a folder that is not there is refused", async () => {
  await mkdir(join(folder, "data"));
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(folder, "data", name), `in ${name}`);
  await writeFile(
    join(folder, "reads.mjs"),
    `import { z } from "leasefold";
     export default { name: "reads", summary: "a test", params: z.object({ source: z.string() }),
       plan: (params, { files }) => files.list(params.source),
       async compute({ input, files }) { const parts = []; for await (const part of files.read(input)) parts.push(part); return Buffer.concat(parts).toString(); },
       merge: (a, b) => a + b, zero: () => "" };`,
  );
  const { out, err } = await run("try ./reads.mjs --folder ./data --chunk 1 --json");
  expect(err).toBe("");
  expect(JSON.parse(out)).toMatchObject({ index: 1, count: 2, partial: "in b.txt" });
  const sets = "invalid --folder: it sets the source itself: leave --source out";
  const reads = "invalid --folder: mine reads no files: it has no parameter source";
  for (const command of ["try", "check"])
    for (const [asked, why] of [
      ["./reads.mjs --folder ./data --source x/", sets],
      ["./mine.mjs --folder ./data", reads],
    ])
      expect(await run(`${command} ${asked}`)).toMatchObject({ code: 2, err: `leasefold: ${why}\n` });
  const none = await run("try ./reads.mjs --folder ./none");
  expect([none.code, none.err]).toEqual([
    2,
    expect.stringContaining("invalid --folder: cannot read the folder"),
  ]);
});

test("a chunk that throws is told of with the lines of the user's code, as a failed calculation", async () => {
  const { code, err } = await run("try ./mine.mjs --bad 1 --chunk 1");
  expect(code).toBe(7);
  expect(err).toMatch(/at .*mine\.mjs:6:.*\nleasefold: chunk 1: no good \(mine\.mjs:6\)\n$/);
});

test.each([
  ["floats", "an error that nothing awaits: lost (mine.mjs:8)"],
  ["waits", "it awaits a promise that nothing settles"],
  ["exits", "the calculation ended its process: process.exit(3)"],
])(
  "code that %s is told of as what ends its chunk",
  async (ends, why) => {
    const { code, out, err } = await run(`try ./mine.mjs --chunk 2 --ends ${ends}`);
    expect([code, out, err.split("\n").at(-2)]).toEqual([7, "", `leasefold: chunk 2: ${why}`]);
  },
  60_000,
);

test("a chunk that the plan does not have is refused", async () => {
  const { code, err } = await run("try ./mine.mjs --chunk 3");
  expect([code, err]).toEqual([2, "leasefold: invalid --chunk: 3; there are chunks 0 to 2\n"]);
});

test.skipIf(process.platform === "win32")(
  "Ctrl-C ends a chunk that never ends its turn",
  async () => {
    const { signal } = await run("try ./mine.mjs --hangs true", (text, end) => {
      if (text.includes("seen")) end();
    });
    expect(signal).toBe("SIGINT");
  },
  60_000,
);

test("SIGTERM ends the wait for a debugger", async () => {
  const { signal } = await run("try ./mine.mjs --inspect", (text, end) => {
    if (text.includes("every user of this machine")) end("SIGTERM");
  });
  expect(signal).toBe("SIGTERM");
});

test("a debugger stops one step before the user's compute", async () => {
  const functions: string[] = [];
  const urls = new Map<string, string>();
  let asked = false;
  let warned = false;
  const { code } = await run("try ./mine.mjs --inspect", (text) => {
    warned ||= text.includes("every user of this machine may attach");
    const [url] = /ws:\/\/\S+?(?=,? |\n|$)/.exec(text) ?? [];
    if (url === undefined || asked || !text.includes("attach")) return;
    asked = true;
    const socket = new WebSocket(url);
    let id = 0;
    const post = (method: string) => socket.send(JSON.stringify({ id: ++id, method }));
    socket.onopen = () => {
      for (const method of ["Runtime.enable", "Debugger.enable", "Runtime.runIfWaitingForDebugger"])
        post(method);
    };
    socket.onmessage = ({ data }) => {
      const { method, params } = JSON.parse(String(data));
      if (method === "Debugger.scriptParsed") urls.set(params.scriptId, params.url);
      if (method !== "Debugger.paused") return;
      const [top] = params.callFrames;
      functions.push(`${top.functionName} ${urls.get(top.location.scriptId)?.split("/").at(-1)}`);
      // The first stop is ours; a step over it and one into the call lead to the user's.
      if (functions.length < 3) post(functions.length === 1 ? "Debugger.stepOver" : "Debugger.stepInto");
      else {
        post("Debugger.resume");
        socket.close();
      }
    };
  });
  expect([code, warned]).toEqual([0, true]);
  expect(functions).toEqual(["compute tryChunk.ts", "compute tryChunk.ts", "compute mine.mjs"]);
});

test("a chunk of a run has the parameters of the run and the input that its plan recorded", async () => {
  const { client, storage } = await clientWorld();
  const { uid } = await submit(client, { calculation: "sum", params: { to: 100 }, id: "r" });
  const blobs = runBlobs("r", uid);
  const segments = { attempt: "1-1-a", starts: [0, 2], sha256: [] };
  const plan = { ...planOf(4), run: "r", uid, code: "sum@other", segments };
  storage.operator.overwriteBlob(names.runs, blobs.plan, JSON.stringify(plan));
  const write = (number: number, inputs: unknown[]) =>
    storage.operator.overwriteBlob(
      names.runs,
      blobs.segment("1-1-a", number),
      JSON.stringify({ v: 1, from: 2 * number, inputs }),
    );
  write(0, ["a", "b"]);
  write(1, ["c", "d"]);
  const chunkOf = (index: number, name = "sum") =>
    recordedChunk(client, client.calculations, { run: "r", name, index });
  expect(await chunkOf(3)).toMatchObject({ input: "d", index: 3, other: expect.stringContaining("other") });
  expect(await chunkOf(1)).toMatchObject({ input: "b", params: { to: 100 } });
  await expect(chunkOf(plan.chunks)).rejects.toThrow("invalid --chunk");
  await expect(chunkOf(0, "primes")).rejects.toThrow("r is a run of sum, not of primes");
});
