import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { decodeRecord } from "../../src/election/record/record.ts";
import { command } from "../../src/engine/client/commands/command.ts";
import { workers } from "../../src/engine/client/inspection/workers.ts";
import { leader } from "../../src/engine/client/leader.ts";
import { runs } from "../../src/engine/client/runs.ts";
import { addSchedule, schedules } from "../../src/engine/client/schedules/schedules.ts";
import { decodeClosedRun, encodeClosedRun } from "../../src/engine/model/closedRun.ts";
import { decodeJson } from "../../src/engine/model/decode.ts";
import { decodeMarker, encodeMarker } from "../../src/engine/model/marker.ts";
import { decodeMessage } from "../../src/engine/model/message.ts";
import {
  failureSchema,
  manifestSchema,
  planSchema,
  segmentSchema,
  specSchema,
} from "../../src/engine/model/run.ts";
import { decodeMarks, decodeSchedule, encodeMarks } from "../../src/engine/model/schedule.ts";
import { decodeSign, encodeSign } from "../../src/engine/model/sign.ts";
import { stateSchema } from "../../src/engine/model/state.ts";
import { type Versioned, versions } from "../../src/engine/model/versions.ts";
import { type EngineWorld, engineWorld, simNames } from "../support/engineWorld.ts";
import {
  putStored,
  readWire,
  releases,
  storedIn,
  thisRelease,
  type WireBlob,
  type WireFixture,
  writesWire,
  writeWire,
} from "../support/wireFixture.ts";

/** Chunk 7 always fails, and packs take long enough to have signs. */
const world = (seed: number): EngineWorld =>
  engineWorld({
    seed,
    code: {
      chunkMs: () => 9_000,
      onChunk(chunk) {
        if (chunk === 7) throw new Error("chunk 7 is broken");
      },
    },
  });
const half = {
  ...{ id: "half", chunks: 40, packSize: 1, list: true, tolerate: { chunks: 2 }, retryAfterS: [0] },
  ...{ attempts: 3, deadline: { ms: 86_400_000, keep: true }, tags: { team: "risk" }, reuse: true as const },
};

async function simulated(): Promise<WireFixture> {
  const engine = world(43);
  const { client } = engine;
  for (let count = 0; count < 3; count += 1) engine.start({ breakAfterMs: 4_000 });
  await engine.submit({ ...half, id: "done", chunks: 12 });
  await engine.untilEnd("done");
  await engine.world.advance(20_000);
  const run = { calculation: "ranges", params: { chunks: 3 } };
  const schedule = { name: "nightly", cron: "0 2 * * *", run };
  await engine.world.finish(addSchedule(client, schedule));
  await engine.submit(half);
  await engine.world.until(() => engine.instances.some((one) => one.leading()), 60_000);
  const ada = { ...client, actor: "user:ada" };
  await engine.world.finish(command(ada, "half", { kind: "cap", cap: 1_000 }));
  for (;;) {
    await engine.world.advance(1_000);
    const state = await engine.state("half");
    if ((state?.packsDone ?? 0) >= 12 && (state?.packsFailed ?? 0) > 0) break;
  }
  for (const one of engine.instances) one.kill();
  const atMs = engine.world.nowMs();
  await engine.world.advance(700_000);
  const stored = await storedIn(engine.storage, simNames);
  const calm = world(44);
  calm.start();
  await calm.submit(half);
  await calm.untilEnd("half");
  return { atMs, ...stored, result: await calm.result("half") };
}

type Row = readonly [kind: Versioned, place: RegExp, read: (blob: WireBlob) => readonly [unknown, unknown]];
const json = (schema: Parameters<typeof decodeJson>[0]) => (blob: WireBlob) =>
  [decodeJson(schema, blob.body, blob.name), JSON.parse(blob.body)] as const;
/** How each document is read, and what it must say: all that is stored, under the names of its fields. */
const rows: readonly Row[] = [
  ["spec", /-runs\/[^/]+\/spec\.json$/, json(specSchema)],
  ["plan", /\/plan\.json$/, json(planSchema)],
  ["segment", /\/plan\/[^/]+\/\d+$/, json(segmentSchema)],
  ["state", /\/state\.json$/, json(stateSchema)],
  ["failure", /\/failed\/(?!code)/, json(failureSchema)],
  ["manifest", /\/manifest\.json$/, json(manifestSchema)],
  ["marker", /-active\/[^_/]+$/, ({ metadata }) => [encodeMarker(decodeMarker(metadata, "it")), metadata]],
  [
    "schedule",
    /\/_schedules\//,
    (one) => {
      const { v: _version, ...stored } = JSON.parse(one.body) as { v: number };
      return [decodeSchedule(Buffer.from(one.body), "it"), stored];
    },
  ],
  ["schedule", /\/_schedules\//, ({ metadata }) => [encodeMarks(decodeMarks(metadata, "it")), metadata]],
  ["summary", /\/_closed\//, ({ metadata }) => [encodeClosedRun(decodeClosedRun(metadata, "it")), metadata]],
  ["sign", /\/workers\//, ({ metadata }) => [encodeSign(decodeSign(metadata, "it")), metadata]],
  [
    "leader",
    /-coordination\/leader$/,
    ({ metadata }) => {
      const record = JSON.parse(metadata["record"] ?? "") as unknown;
      return [decodeRecord(metadata), { kind: "record", record }];
    },
  ],
];

const versionOf = ({ body, metadata }: WireBlob): number =>
  Number(metadata["v"] ?? (body === "" ? 1 : (JSON.parse(body) as { v: number }).v));

beforeAll(async () => {
  if (writesWire) await writeWire("simulated", await simulated());
});

test("this release has its documents among them, and the page tells their versions as they are", async () => {
  expect(await releases(), "docs/UPGRADE.md says how they are written").toContain(thisRelease);
  const page = await readFile(join(import.meta.dirname, "../../docs/UPGRADE.md"), "utf8");
  const told = [...page.matchAll(/^\| `(\w+)` \| .* \| (\d+) \|$/gm)].map(([, kind, v]) => [kind, Number(v)]);
  expect(Object.fromEntries(told)).toEqual(versions);
  const { blobs } = await readWire(thisRelease, "simulated");
  const written = rows.flatMap(([kind, place]) =>
    blobs
      .filter(({ container, name }) => kind !== "summary" && place.test(`${container}/${name}`))
      .map((blob) => [kind, versionOf(blob)]),
  );
  expect(told).toEqual(expect.arrayContaining(written));
});

describe.each(await releases())("what release %s wrote", (release) => {
  test.each(["simulated", "real"] as const)(
    "is read by this build, and nothing of it is overlooked: %s",
    async (how) => {
      const { blobs, messages } = await readWire(release, how);
      const seen = new Set<Versioned>();
      for (const [kind, place, read] of rows)
        for (const blob of blobs.filter(({ container, name }) => place.test(`${container}/${name}`))) {
          seen.add(kind);
          const [decoded, stored] = read(blob);
          // A version that only a reader knows has another form.
          if (versionOf(blob) === versions[kind]) expect(decoded, blob.name).toMatchObject(stored as object);
        }
      for (const { text } of messages) {
        const stored = JSON.parse(text) as { v: number; kind: string };
        if (stored.kind === "wake") continue;
        seen.add("message");
        if (stored.v === versions.message) expect(decodeMessage(text)).toMatchObject(stored);
        else decodeMessage(text);
      }
      const all = [...new Set(rows.map(([kind]) => kind)), "message"];
      const rare = how === "real" ? ["schedule", "failure", "segment", "sign"] : [];
      expect([...seen].sort()).toEqual(expect.arrayContaining(all.filter((kind) => !rare.includes(kind))));
    },
  );

  test("is listed, and a build of now finishes the run that it left half done, with the same bytes", async () => {
    const stored = await readWire(release, "simulated");
    const engine = world(7);
    const { client } = engine;
    await engine.world.advance(stored.atMs + 700_000);
    await putStored(engine.storage, stored);
    const listed = (await runs(client)).runs.map(({ run, word }) => [run, word]);
    expect(listed).toEqual([
      ["half", "computing"],
      ["done", "complete-with-gaps"],
    ]);
    expect((await schedules(client)).map(({ name }) => name)).toEqual(["nightly"]);
    expect((await workers(client)).unreadable).toEqual([]);
    expect(await leader(client)).toMatchObject({ kind: "nobody" });
    expect(await engine.result("done")).not.toBe("");
    engine.start();
    const { phase } = await engine.untilEnd("half");
    expect([phase, await engine.result("half")]).toEqual(["complete", stored.result]);
    expect(
      engine.storage.operator.blobNames(simNames.runs).filter((name) => name.startsWith("_dropped")),
    ).toEqual([]);
  });
});
