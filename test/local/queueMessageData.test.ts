import { describe, expect, it } from "vitest";
import { decodeBody, triggerMetadata } from "../../src/local/host/queueDelivery.ts";
import { plainRandom } from "./manualClock.ts";

const message = { id: "m1", text: "", dequeueCount: 2, insertedMs: 1_000, popReceipt: "r1" };
const metadataOf = (body: string) =>
  triggerMetadata({
    message,
    body,
    functionName: "worker",
    nowMs: 5_000,
    hiddenUntilMs: 605_000,
    random: plainRandom(),
  });

describe("trigger metadata", () => {
  it("has the host's own names", () => {
    expect(metadataOf("plain")).toEqual({
      QueueTrigger: { string: "plain" },
      DequeueCount: { int: 2 },
      ExpirationTime: { json: '"9999-12-31T23:59:59.9999999+00:00"' },
      Id: { string: "m1" },
      InsertionTime: { json: '"1970-01-01T00:00:01.000Z"' },
      NextVisibleTime: { json: '"1970-01-01T00:10:05.000Z"' },
      PopReceipt: { string: "r1" },
      sys: {
        json: '{"MethodName":"worker","UtcNow":"1970-01-01T00:00:05.000Z","RandGuid":"00000000-0000-4000-8000-000000000001"}',
      },
    });
  });

  it("is overwritten by properties of the body, whatever their case, except by arrays", () => {
    const body = '{"id":"mine","DEQUEUECOUNT":9,"popReceipt":[1],"run":"r","nested":{"a":1},"none":null}';
    const metadata = metadataOf(body);
    expect(metadata["id"]).toEqual({ string: "mine" });
    expect(metadata["Id"]).toBeUndefined();
    expect(metadata["DEQUEUECOUNT"]).toEqual({ int: 9 });
    expect(metadata["PopReceipt"]).toEqual({ string: "r1" });
    expect(metadata["run"]).toEqual({ string: "r" });
    expect(metadata["nested"]).toEqual({ json: '{"a":1}' });
    expect(metadata["none"]).toEqual({ json: "null" });
  });

  it.each(["[1]", "42", '"text"', "null", "{"])("is unchanged by a body that is no object: %s", (body) => {
    expect(Object.keys(metadataOf(body))).toHaveLength(8);
  });
});

describe("a body", () => {
  it.each([
    ["aGVsbG8=", "hello"],
    ["aGVs\nbG8=", "hello"],
    ["", ""],
    ["hello", undefined],
    ['{"a":1}', undefined],
    ["a===", undefined],
  ])("of %j in base64 is %j", (text, body) => {
    expect(decodeBody(text, "base64")).toBe(body);
  });

  it("without encoding is the text as it is", () => {
    expect(decodeBody("aGVsbG8=", "none")).toBe("aGVsbG8=");
  });
});
