import { expect, test } from "vitest";
import { newTerm } from "../../src/engine/leader/coordinate.ts";
import { localWork } from "../../src/engine/leader/perform/localWork.ts";
import { recordPoison } from "../../src/engine/leader/poison.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { poisonOf } from "../../src/engine/model/names.ts";
import { leadOnTwin } from "./leadOnTwin.ts";

const nowMs = 1_000;

/** A term on the twin, and the texts that its worker was given. */
async function reading() {
  const twin = leadOnTwin();
  const texts: string[] = [];
  const worker = {
    take: () => undefined,
    recordPoison: async ({ text }: { readonly text: string }) => void texts.push(text),
  };
  const local = localWork({ worker, clock: twin.ports.clock }, { untilMs: Number.POSITIVE_INFINITY });
  const term = newTerm(twin.ports, twin.leader, local);
  const queue = poisonOf(twin.names.packs);
  await twin.storage.queues.ensureQueue(queue);
  return { ...twin, term, texts, queue };
}

test("a leader gives its worker all that it finds in poison queues, whatever it is, and removes it", async () => {
  const { term, texts, queue, storage, world } = await reading();
  for (const text of ["no JSON", "{}"]) await storage.queues.send(queue, text);
  await world.finish(recordPoison(term, nowMs));
  expect(texts.sort()).toEqual(["no JSON", "{}"]);
  expect(await storage.queues.stats(queue)).toMatchObject({ approximateCount: 0 });
  expect(term.poison.readMs).toBe(nowMs);
});

test.each([
  ["busy", Number.NEGATIVE_INFINITY],
  ["denied", nowMs],
] as const)("a poison queue that is %s is read later, or holds up nothing", async (kind, readMs) => {
  const { term, storage, world } = await reading();
  storage.queues.receive = async () => {
    throw new StorageError(kind, "", 503, "no");
  };
  await world.finish(recordPoison(term, nowMs));
  expect(term.poison.readMs).toBe(readMs);
});
