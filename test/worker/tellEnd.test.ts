import { describe, expect, test } from "vitest";
import type { EndedRun } from "../../src/engine/model/endedRun.ts";
import { decodeTell, encodeMessage, type TellMessage } from "../../src/engine/model/message.ts";
import { handlePoison, handleWork } from "../../src/engine/worker/handleWork.ts";
import type { Teller } from "../../src/engine/worker/ports.ts";
import { tellAgainAfterS } from "../../src/engine/worker/tellEnd.ts";
import { inlineCode, joining, workerWorld } from "./workerWorld.ts";

const word: EndedRun = {
  ...{ type: "run.failed", timestamp: "2026-11-23T02:14:07.120Z" },
  data: {
    ...{ id: "u-1", run: "r", uid: "u", generation: 1, outcome: "failed", calculation: "sum" },
    ...{ startedAt: "2026-11-23T02:14:07.120Z", endedAt: "2026-11-23T02:14:07.120Z" },
    cost: { dollars: 1, storageDollars: 1 },
  },
};
const message: TellMessage = { v: 2, kind: "tell", run: "r", uid: "u", gen: 1, word };

/** What each place answers: true, false (410), or an error. */
async function tellTo(
  answers: Record<string, boolean | (() => Promise<boolean>)>,
  more: Partial<TellMessage> = {},
) {
  const told: string[] = [];
  const tellers = new Map<string, Teller>(
    Object.entries(answers).map(([key, answer]) => [
      key,
      {
        name: key,
        async tell({ data }) {
          told.push(`${key} ${data.id}`);
          return typeof answer === "boolean" ? answer : answer();
        },
      },
    ]),
  );
  const made = await workerWorld(inlineCode(joining), { tellers });
  const text = encodeMessage({ ...message, ...more });
  const delivery = { queue: made.names.urgent, urgent: true, text, attempt: 1 };
  const waiting = async (afterS: number) => {
    await made.world.advance(afterS * 1_000);
    return (await made.storage.queues.peek(made.names.urgent, 32)).map(({ text: one }) => decodeTell(one));
  };
  const events = () => made.log.map(({ event, fields }) => [event, fields["to"]]);
  return { ...made, told, delivery, waiting, events };
}

const refuses = () => Promise.reject(new Error("it answered 503"));

describe("the word that a run has ended", () => {
  test("goes to every place, and again only to those that refused it, once their pause is over", async () => {
    const { ports, told, delivery, waiting, events } = await tellTo({
      queue: true,
      bad: refuses,
      gone: false,
    });
    await handleWork(ports, delivery);
    expect(told).toEqual(["queue u-1", "bad u-1", "gone u-1"]);
    expect(events()).toEqual([
      ...[
        ["word-told", "queue"],
        ["word-undelivered", "gone"],
        ["word-refused", "bad"],
      ],
    ]);
    expect(await waiting(3)).toEqual([]);
    expect(await waiting(3)).toEqual([{ ...message, to: ["bad"], tries: 1 }]);
  });

  test("ends after its last pause with a line of the log, within the seven days that a queue can hide it", async () => {
    const tries = tellAgainAfterS.length;
    const { ports, delivery, waiting, log } = await tellTo({ bad: refuses }, { tries, to: ["bad"] });
    await handleWork(ports, delivery);
    expect(log).toMatchObject([
      { event: "word-undelivered", level: "error", fields: { why: "it answered 503" } },
    ]);
    expect(await waiting(30 * 3_600)).toEqual([]);
    expect(Math.max(...tellAgainAfterS)).toBeLessThan(7 * 24 * 3_600);
  });

  test("is not sent to a place that no setting names any more", async () => {
    const { ports, delivery, told, events } = await tellTo({ queue: true }, { to: ["webhook-1"], tries: 1 });
    await handleWork(ports, delivery);
    expect([told, events()]).toEqual([[], [["word-undelivered", "webhook-1"]]]);
  });

  test("waits while four others hang, so that the threads of runs stay free", async () => {
    const hang = Promise.withResolvers<boolean>();
    const { ports, delivery, told, waiting } = await tellTo({ slow: () => hang.promise });
    const begun = Array.from({ length: 5 }, () => handleWork(ports, delivery));
    await begun[4];
    expect(told).toHaveLength(4);
    expect(await waiting(11)).toEqual([message]);
    hang.resolve(true);
    await Promise.all(begun);
    await handleWork(ports, delivery);
    expect(told).toHaveLength(5);
  });

  test("that the host set aside is told in the log", async () => {
    const { ports, delivery, told, log } = await tellTo({ queue: true });
    await handlePoison(ports, { ...delivery, attempt: 5 });
    expect([told, log.map(({ event }) => event)]).toEqual([[], ["word-undelivered"]]);
  });

  test("with another shape is recorded and dropped, and of a later version put back", async () => {
    const { ports, delivery, storage, names, waiting } = await tellTo({ queue: true });
    const but = (change: object) => ({ ...delivery, text: JSON.stringify({ ...message, ...change }) });
    await handleWork(ports, but({ word: { ...word, type: "run.lost" } }));
    expect(storage.operator.blobNames(names.runs)).toEqual([expect.stringMatching(/^_dropped\//)]);
    await handleWork(ports, but({ v: 3 }));
    expect(await storage.queues.stats(names.urgent)).toMatchObject({ approximateCount: 1 });
    await expect(waiting(31)).rejects.toThrow("version 3");
  });
});
