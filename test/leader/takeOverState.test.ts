import { beforeEach, describe, expect, test } from "vitest";
import { DeposedError, takeOverState } from "../../src/engine/leader/perform/stateChain.ts";
import type { Leader } from "../../src/engine/leader/term.ts";
import { limits } from "../../src/engine/model/limits.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { runBlobs } from "../../src/engine/model/runBlobs.ts";
import type { State } from "../../src/engine/model/state.ts";
import { type MemoryStorage, memoryStorage } from "../../src/engine/storage/memory/memoryStorage.ts";
import { computing } from "../support/runFixtures.ts";
import { virtualWorld } from "../support/virtualClock.ts";

const names = namesOf("t");
const blob = runBlobs("r", "u").state;
const request = { id: "r", uid: "u", generation: 1, cap: 2000, nowMs: 5 };
const leader = (term: number, more: Partial<Leader> = {}): Leader => ({
  ...{ term, termid: `term ${term}`, holder: `h${term}` },
  ...{ signal: new AbortController().signal, lost: new AbortController().signal },
  ...{ assertLeading() {}, progress() {}, note() {} },
  ...more,
});
let storage: MemoryStorage;
let sequence = 0;
const store = () => ({ storage, names, nextSequence: () => ++sequence });

beforeEach(async () => {
  const world = virtualWorld();
  storage = memoryStorage({ clock: world.clock(), random: world.random });
  await storage.blobs.ensureContainer(names.runs);
});

async function storeState(state: State): Promise<void> {
  await storage.blobs.create(names.runs, blob, JSON.stringify(state));
}
async function stored(): Promise<State> {
  const found = await storage.blobs.read(names.runs, blob);
  if (found.kind === "missing") throw new Error("no state");
  return JSON.parse(Buffer.from(found.body).toString());
}

/** Whatever `meanwhile` does happens between the read and the write of the takeover, so many times. */
function racing(times: number, meanwhile: (time: number) => Promise<void>): () => number {
  const { replace } = storage.blobs;
  let raced = 0;
  storage.blobs.replace = async (...write) => {
    const own = JSON.parse(String(write[2])) as State;
    if (own.termid === "term 9" && raced < times) await meanwhile(++raced);
    return replace(...write);
  };
  return () => raced;
}

describe("the takeover of a state", () => {
  test.each([1, 3])(
    "continues when %i last writes of lower terms raced it, and takes their content over",
    async (times) => {
      await storeState({ ...computing(400), term: 4, termid: "term 4", cursor: 10 });
      const { replace } = storage.blobs;
      const raced = racing(times, async (time) => {
        const found = await storage.blobs.read(names.runs, blob);
        if (found.kind === "missing") throw new Error("no state");
        const last = { ...(await stored()), cursor: 10 + 20 * time, packsDone: time };
        await replace(names.runs, blob, JSON.stringify(last), { ifMatch: found.properties.etag });
      });
      const chain = await takeOverState(store(), leader(9), request);
      expect(raced()).toBe(times);
      const sealed = { term: 9, termid: "term 9", cursor: 10 + 20 * times, packsDone: times };
      expect(chain.state()).toMatchObject(sealed);
      expect(await stored()).toMatchObject(sealed);
      expect((await stored()).terms).toEqual([{ term: 9, holder: "h9", atMs: 5 }]);
      expect(await chain.write({ ...chain.state(), cursor: 99 })).toBe("written");
    },
  );

  test.each([9, 12])("ends a term for which term %i came first under another id", async (term) => {
    await storeState({ ...computing(400), term: 4, termid: "term 4" });
    const { replace } = storage.blobs;
    racing(1, async () => {
      const found = await storage.blobs.read(names.runs, blob);
      const other = { ...(await stored()), term, termid: "another" };
      const ifMatch = found.kind === "found" ? found.properties.etag : "";
      await replace(names.runs, blob, JSON.stringify(other), { ifMatch });
    });
    const failed = await takeOverState(store(), leader(9), request).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(DeposedError);
    expect((failed as DeposedError).seenTerm).toBe(term);
    expect(await stored()).toMatchObject({ termid: "another" });
  });

  test("ends a term whose run was deleted meanwhile", async () => {
    await storeState({ ...computing(400), term: 4, termid: "term 4" });
    racing(1, async () => storage.operator.deleteBlob(names.runs, blob));
    await expect(takeOverState(store(), leader(9), request)).rejects.toBeInstanceOf(DeposedError);
  });

  test("of a state that is the own one already writes nothing", async () => {
    await storeState({ ...computing(400), term: 9, termid: "term 9", sequence: 3 });
    const chain = await takeOverState(store(), leader(9), request);
    expect(chain.state().sequence).toBe(3);
    expect((await stored()).sequence).toBe(3);
  });
});

describe("packs that the leader before may have sent and did not live to record", () => {
  const old = () => ({ ...computing(4_000), term: 4, termid: "term 4", cursor: 30 });

  test.each<[string, Partial<Leader>, number]>([
    ["a leader that died", {}, 30 + limits.sendsPerWriteMax],
    ["one whose lease was broken", { cameBy: "broken" }, 30 + limits.sendsPerWriteMax],
    ["one that handed over", { cameBy: "handed-over" }, 0],
  ])("after %s are possibly sent as far as it could get", async (_what, more, possiblySentUpTo) => {
    await storeState(old());
    const chain = await takeOverState(store(), leader(old().term + 1, more), request);
    expect(chain.state().possiblySentUpTo).toBe(possiblySentUpTo);
  });

  test("are possibly sent too where the term that handed over never came to the run", async () => {
    await storeState(old());
    const chain = await takeOverState(store(), leader(old().term + 2, { cameBy: "handed-over" }), request);
    expect(chain.state().possiblySentUpTo).toBe(30 + limits.sendsPerWriteMax);
  });

  test("stay possibly sent over several leaders that die, and never become fewer", async () => {
    await storeState({ ...old(), possiblySentUpTo: 900 });
    expect((await takeOverState(store(), leader(9), request)).state().possiblySentUpTo).toBe(900);
  });

  test("are none for the same term, nor where a retry begins", async () => {
    await storeState({ ...old(), term: 9, termid: "term 9" });
    expect((await takeOverState(store(), leader(9), request)).state().possiblySentUpTo).toBe(0);
    storage.operator.overwriteBlob(names.runs, blob, JSON.stringify({ ...old(), phase: "failed" }));
    const retry = await takeOverState(store(), leader(9), { ...request, generation: 2 });
    expect(retry.state()).toMatchObject({ generation: 2, possiblySentUpTo: 0 });
  });

  test("are the first ones too, where it died between the plan and its first write", async () => {
    const { layout: _layout, ...planning } = { ...old(), phase: "planning" as const, cursor: 0 };
    await storeState(planning);
    const chain = await takeOverState(store(), leader(9), request);
    expect(chain.state().possiblySentUpTo).toBe(limits.sendsPerWriteMax);
  });
});
