import { describe, expect, it } from "vitest";
import { triggerMetadata } from "../../../../src/host/queueDelivery.ts";

const metadataOf = (text: string) =>
  triggerMetadata({ id: "m1", text, dequeueCount: 2, insertedMs: 1_000, popReceipt: "r1" });

describe("trigger metadata", () => {
  it("has the host's own names", () => {
    expect(metadataOf("plain")).toEqual({
      QueueTrigger: { string: "plain" },
      DequeueCount: { json: "2" },
      Id: { string: "m1" },
      InsertionTime: { json: '"1970-01-01T00:00:01+00:00"' },
    });
  });

  it("is overwritten by properties of the body, whatever their case, except by arrays", () => {
    const body = '{"id":"mine","DEQUEUECOUNT":9,"insertionTime":[1],"run":"r","nested":{"a":1},"none":null}';
    const metadata = metadataOf(body);
    expect(metadata["id"]).toEqual({ string: "mine" });
    expect(metadata["Id"]).toBeUndefined();
    expect(metadata["DEQUEUECOUNT"]).toEqual({ json: "9" });
    expect(metadata["InsertionTime"]).toEqual({ json: '"1970-01-01T00:00:01+00:00"' });
    expect(metadata["run"]).toEqual({ string: "r" });
    expect(metadata["nested"]).toEqual({ json: '{"a":1}' });
    expect(metadata["none"]).toEqual({ json: "null" });
  });

  it("has dates of the body as the host writes them, and other texts as they are", () => {
    const body = {
      day: "2026-01-31",
      noon: "2026-01-31T12:00:00Z",
      east: "2026-01-31T12:00:00.5+02:00",
      no: "2026-01-31T99:00:00",
    };
    const metadata = metadataOf(JSON.stringify(body));
    expect(metadata["day"]).toEqual({ string: "2026-01-31" });
    expect(metadata["noon"]).toEqual({ string: "01/31/2026 12:00:00" });
    expect(metadata["east"]).toEqual({ string: "01/31/2026 10:00:00" });
    expect(metadata["no"]).toEqual({ string: body.no });
  });

  it.each(["[1]", "42", '"text"', "null", "{"])("is unchanged by a body that is no object: %s", (body) => {
    expect(Object.keys(metadataOf(body))).toHaveLength(4);
  });
});
