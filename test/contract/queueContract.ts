import { expect, it } from "vitest";
import { freshName, freshQueue, type OpenAccount, ofKind, refusal } from "./accounts.ts";

const take = { max: 32, visibilityS: 30 };

export function queueContract(open: OpenAccount): void {
  it("makes a queue once", async () => {
    const { queues } = open().storage;
    const queue = freshName();
    expect(await queues.ensureQueue(queue)).toBe("created");
    expect(await queues.ensureQueue(queue)).toBe("existed");
  });

  it("delivers a text as it was sent", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const texts = ['{"kind":"compute","from":0}', "007", "", ` <a>&"' \n é😀 `];
    for (const text of texts) await queues.send(queue, text);
    const received = await queues.receive(queue, take);
    expect(received.map((message) => message.text).toSorted()).toEqual(texts.toSorted());
  });

  it("gives each message to one of many receivers", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const sent = await Promise.all(Array.from({ length: 12 }, (_, index) => queues.send(queue, `${index}`)));
    const receivers = Array.from({ length: 6 }, () => queues.receive(queue, { max: 4, visibilityS: 30 }));
    const received = (await Promise.all(receivers)).flat();
    const rest = await queues.receive(queue, take);
    const ids = [...received, ...rest].map((message) => message.id);
    expect(ids.toSorted()).toEqual(sent.map((message) => message.id).toSorted());
  });

  it("hides a received message for its time, then delivers it again with another receipt", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    await queues.send(queue, "work");
    const [first] = await queues.receive(queue, { max: 1, visibilityS: 1 });
    expect(first).toMatchObject({ text: "work", dequeueCount: 1 });
    expect(await queues.receive(queue, take)).toEqual([]);
    await account.wait(1500);
    const [second] = await queues.receive(queue, take);
    expect(second).toMatchObject({ id: first?.id, text: "work", dequeueCount: 2 });
    expect(second?.popReceipt).not.toBe(first?.popReceipt);
    const id = first?.id ?? "";
    expect(await queues.remove(queue, id, first?.popReceipt ?? "")).toBe("gone");
    expect(await queues.update(queue, id, first?.popReceipt ?? "", { visibleInS: 0 })).toEqual({
      kind: "gone",
    });
    expect(await queues.remove(queue, id, second?.popReceipt ?? "")).toBe("removed");
    expect(await queues.remove(queue, id, second?.popReceipt ?? "")).toBe("gone");
  });

  it("hides a message for a second and then shows it", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    await queues.send(queue, "later", { visibleInS: 1 });
    expect(await queues.receive(queue, take)).toEqual([]);
    expect(await queues.peek(queue, 32)).toEqual([]);
    expect(await queues.stats(queue)).toMatchObject({ kind: "found", approximateCount: 1 });
    await account.wait(1500);
    expect(await queues.receive(queue, take)).toMatchObject([{ text: "later", dequeueCount: 1 }]);
  });

  it("hides a message again and again with the receipt of its own send, and keeps its text", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const sent = await queues.send(queue, "wake", { visibleInS: 1 });
    let { popReceipt } = sent;
    for (let round = 0; round < 3; round += 1) {
      await account.wait(600);
      const updated = ofKind(await queues.update(queue, sent.id, popReceipt, { visibleInS: 1 }), "updated");
      expect(updated.popReceipt).not.toBe(popReceipt);
      popReceipt = updated.popReceipt;
    }
    expect(await queues.receive(queue, take)).toEqual([]);
    const shown = ofKind(await queues.update(queue, sent.id, popReceipt, { visibleInS: 0 }), "updated");
    const [received] = await queues.receive(queue, take);
    expect(received).toMatchObject({ id: sent.id, text: "wake", dequeueCount: 1 });
    expect(await queues.update(queue, sent.id, shown.popReceipt, { visibleInS: 1 })).toEqual({
      kind: "gone",
    });
  });

  it("deletes a hidden message with the receipt of its own send", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const sent = await queues.send(queue, "wake", { visibleInS: 600 });
    expect(await queues.remove(queue, sent.id, sent.popReceipt)).toBe("removed");
    expect(await queues.update(queue, sent.id, sent.popReceipt, { visibleInS: 1 })).toEqual({ kind: "gone" });
    expect(await queues.stats(queue)).toMatchObject({ approximateCount: 0 });
  });

  it("shows visible messages without taking them", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const sent = await queues.send(queue, "look");
    const peeked = await queues.peek(queue, 1);
    expect(peeked).toEqual([{ id: sent.id, text: "look", dequeueCount: 0, insertedMs: expect.any(Number) }]);
    expect((peeked[0]?.insertedMs ?? 1) % 1000).toBe(0);
    expect(sent.dateMs % 1000).toBe(0);
    expect(await queues.receive(queue, take)).toMatchObject([{ id: sent.id, dequeueCount: 1 }]);
  });

  it("carries 64 KiB and refuses more", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    await queues.send(queue, "x".repeat(65_536));
    const more = queues.send(queue, "x".repeat(65_537));
    await expect(more).rejects.toEqual(refusal("RequestBodyTooLarge", 413));
    expect(await queues.receive(queue, take)).toHaveLength(1);
  });

  it("finds nothing in an absent queue, and refuses to send there", async () => {
    const { queues } = open().storage;
    const absent = freshName();
    expect(await queues.receive(absent, take)).toEqual([]);
    expect(await queues.peek(absent, 1)).toEqual([]);
    expect(await queues.stats(absent)).toEqual({ kind: "missing" });
    expect(await queues.remove(absent, "id", "receipt")).toBe("gone");
    expect(await queues.update(absent, "id", "receipt", { visibleInS: 1 })).toEqual({ kind: "gone" });
    await expect(queues.send(absent, "x")).rejects.toEqual(refusal("QueueNotFound", 404));
  });

  it("refuses numbers outside the service's limits", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const outOfRange = refusal("OutOfRangeQueryParameterValue", 400);
    await expect(queues.receive(queue, { max: 33, visibilityS: 30 })).rejects.toEqual(outOfRange);
    await expect(queues.receive(queue, { max: 1, visibilityS: 0 })).rejects.toEqual(outOfRange);
    await expect(queues.send(queue, "x", { visibleInS: 604_801 })).rejects.toEqual(outOfRange);
  });

  it("ends a call whose signal has fired with an AbortError and without effect", async () => {
    const account = open();
    const { queues } = account.storage;
    const queue = await freshQueue(account);
    const signal = AbortSignal.abort();
    await expect(queues.send(queue, "x", { signal })).rejects.toMatchObject({ name: "AbortError" });
    expect(await queues.stats(queue)).toMatchObject({ approximateCount: 0 });
  });
}
