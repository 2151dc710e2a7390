import { expect, test } from "vitest";
import { deliveryOf, tellLate } from "../../src/app/functions/registerTriggers.ts";
import { triggerMetadata } from "../../src/host/queueDelivery.ts";

const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
const context = { triggerMetadata: { id: "m1", dequeueCount: 3 } };

test("a body that cannot be written out is delivered as a text that is no message", () => {
  // As deep ones cannot before Node 26.
  const body: Record<string, unknown> = {};
  body["a"] = body;
  expect(deliveryOf(body, context, "q", false)).toEqual({
    ...{ queue: "q", urgent: false, attempt: 3 },
    text: expect.stringMatching(/^message m1 cannot be serialized: /),
  });
});

test.each([
  [undefined, ""],
  [null, "null"],
  ["text", "text"],
  [42, "42"],
  [{ a: [1] }, '{"a":[1]}'],
])("a body %j is delivered as %j", (body, text) => {
  expect(deliveryOf(body, context, "q", true).text).toBe(text);
});

test("a deeply nested body does not fail its delivery, whether its property can be among the trigger's metadata or not", () => {
  expect(deliveryOf(JSON.parse(nested(50_000)), context, "q", false)).toMatchObject({ attempt: 3 });
  const text = nested(50_000);
  const message = { id: "m1", text, dequeueCount: 1, insertedMs: 0, popReceipt: "r" };
  const { a: _, ...metadata } = triggerMetadata(message);
  expect(Object.keys(metadata)).toHaveLength(4);
});

test.each(["dequeueCount", "insertionTime", "id"])(
  "a body whose %s cannot be a text is delivered like any other",
  (name) => {
    const inner = { toString: 1, valueOf: 2 };
    const context = { triggerMetadata: { dequeueCount: 1, insertionTime: "2026-11-22", [name]: inner } };
    expect(() => tellLate("q", false, context, 0)).not.toThrow();
    expect(deliveryOf({ [name]: inner }, context, "q", false)).toMatchObject({ attempt: 1 });
    const deep: unknown = JSON.parse(`${'{"a":'.repeat(8_000)}1${"}".repeat(8_000)}`);
    expect(deliveryOf(deep, context, "q", false).attempt).toBe(1);
  },
);

test("the third delivery is the third attempt", () => {
  expect(deliveryOf("text", { triggerMetadata: { dequeueCount: 3 } }, "q", false).attempt).toBe(3);
});
