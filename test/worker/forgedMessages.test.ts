import fc from "fast-check";
import { expect, test } from "vitest";
import type { BlobStore } from "../../src/engine/storage/ports.ts";
import { documents } from "../../src/engine/worker/documents.ts";
import { handlePoison, handleWork } from "../../src/engine/worker/handleWork.ts";
import { markerWatch } from "../../src/engine/worker/markerWatch.ts";
import { at, common, inlineCode, joining, results, workerWorld } from "./workerWorld.ts";

/** A run `r` of uid `u` with nine chunks and its plan, and a worker whose every write is noted. */
async function watchedWorld() {
  const made = await workerWorld(inlineCode(joining));
  await made.submit({ params: { chunks: 9 }, packSize: 1 });
  await made.work({ ...common, kind: "plan" });
  const written: string[] = [];
  const noting =
    <Args extends [string, string, ...unknown[]], R>(call: (...args: Args) => R) =>
    (...args: Args): R => {
      written.push(`${args[0]} ${args[1]}`);
      return call(...args);
    };
  const { blobs } = made.storage;
  const watched: BlobStore = {
    ...blobs,
    create: noting(blobs.create),
    replace: noting(blobs.replace),
    upload: noting(blobs.upload),
    setMetadata: noting(blobs.setMetadata),
    remove: noting(blobs.remove),
    removeMany: (container, names, options) => {
      for (const name of names) written.push(`${container} ${name}`);
      return blobs.removeMany(container, names, options);
    },
  };
  const ports = {
    ...made.ports,
    storage: { ...made.storage, blobs: watched },
    documents: documents(watched, made.names),
    watch: markerWatch(watched, made.names, made.ports.clock),
  };
  const deliver = async (message: unknown, attempt: number, poison: boolean): Promise<void> => {
    const text = typeof message === "string" ? message : JSON.stringify(message);
    const { names } = made;
    const delivery = { queue: names.urgent, urgent: true, text, attempt };
    await made.world.finish(
      (poison ? handlePoison(ports, delivery) : handleWork(ports, delivery)).catch(() => {}),
      3_600_000,
    );
  };
  return { ...made, written, deliver };
}

const { runs, results: resultsOf } = { runs: "w-runs", results: "w-results" };
const own = [`${runs} ${at.root}`, `${resultsOf} ${results.root}`, `${runs} _dropped/`];
const strangers = (written: readonly string[]) =>
  written.filter((name) => !own.some((root) => name.startsWith(root)));

const name = fc.constantFrom(
  "r",
  "u",
  "..",
  ".",
  "../w-active",
  "other",
  "r/u",
  "%2e%2e",
  "",
  "w-active",
  "x".repeat(64),
);
const small = fc.integer({ min: -1, max: 12 });
const forged = fc.record(
  {
    v: fc.constantFrom(1, 1, 1, 0, "1"),
    kind: fc.constantFrom("plan", "compute", "combine", "finish", "cleanup", "sofar", "verify", "else"),
    ...{ run: name, uid: name, tag: name, gen: small, send: small, turn: small, tries: small },
    ...{ shard: small, pack: small, from: small, to: small, level: small, index: small },
    ...{ silent: fc.boolean(), repeat: fc.boolean(), isolated: fc.boolean() },
    members: fc.string({ maxLength: 4 }),
    childGens: fc.constantFrom("1", "2x3", "x", ""),
    nodes: fc.string({ maxLength: 4 }),
    open: fc.array(small, { maxLength: 3 }),
  },
  { requiredKeys: ["v", "kind", "run", "uid", "gen", "send", "turn"] },
);

test("whatever messages are forged, every blob that workers write lies under its own run or among the dropped messages", async () => {
  const made = await watchedWorld();
  await fc.assert(
    fc.asyncProperty(
      forged,
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      async (message, attempt, poison) => {
        await made.deliver(message, attempt, poison);
        expect(strangers(made.written)).toEqual([]);
      },
    ),
    { numRuns: 1_500 },
  );
  expect(made.written.length).toBeGreaterThan(50);
});

test.each(["sofar", "verify", "plan", "compute", "combine", "finish"])(
  "a forged %s for a run or uid that does not exist leaves nothing, as work and as poison",
  async (kind) => {
    const made = await watchedWorld();
    made.written.length = 0;
    const rest = {
      kind,
      tag: "t",
      pack: 0,
      nodes: "",
      open: [],
      shard: 0,
      from: 0,
      to: 1,
      level: 1,
      index: 0,
    };
    for (const run of ["r", "ghost"])
      for (const uid of ["v", "ghost"])
        for (const poison of [false, true])
          for (const attempt of [1, 5]) await made.deliver({ ...common, ...rest, run, uid }, attempt, poison);
    expect(made.written).toEqual([]);
  },
);

test.each(["..", ".", "a/b", "../w-active"])(
  "a question with the run %s is recorded as dropped and nothing else",
  async (run) => {
    const made = await watchedWorld();
    made.written.length = 0;
    await made.deliver({ ...common, run, kind: "sofar", tag: "t", nodes: "", open: [] }, 1, false);
    await made.deliver({ ...common, run, kind: "verify", tag: "t", pack: 0 }, 1, true);
    expect(made.written).toHaveLength(2);
    for (const one of made.written) expect(one).toMatch(/^w-runs _dropped\/[0-9a-f]{64}$/);
  },
);

test("a forged message of a generation that nobody asked for leaves no manifest for a later retry", async () => {
  const made = await watchedWorld();
  await made.deliver({ ...common, kind: "compute", shard: 0, pack: 0, from: 0, to: 1 }, 1, false);
  await made.deliver({ ...common, kind: "finish", gen: 2, members: "AQ" }, 1, false);
  expect(made.written.filter((one) => one.includes("manifest"))).toEqual([]);
  await made.deliver({ ...common, kind: "finish", members: "AQ" }, 1, false);
  expect(made.written.filter((one) => one.includes("manifest"))).toHaveLength(1);
});
