import { expect, test } from "vitest";
import { newTerm } from "../../src/engine/leader/coordinate.ts";
import { localWork } from "../../src/engine/leader/perform/localWork.ts";
import { recordPoison } from "../../src/engine/leader/poison.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import { poisonOf } from "../../src/engine/model/names.ts";
import { leadInMemory } from "./leadInMemory.ts";

const nowMs = 1_000;

/** A term on in-memory storage, and the texts that its worker was given. */
async function reading() {
  const account = leadInMemory();
  const texts: string[] = [];
  const worker = {
    take: () => undefined,
    recordPoison: async ({ text }: { readonly text: string }) => void texts.push(text),
  };
  const local = localWork({ worker, clock: account.ports.clock }, { untilMs: Number.POSITIVE_INFINITY });
  const term = newTerm(account.ports, account.leader, local);
  const queue = poisonOf(account.names.packs);
  await account.storage.queues.ensureQueue(queue);
  return { ...account, term, texts, queue };
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
