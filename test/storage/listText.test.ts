import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { keepListText, withListText } from "../../src/azure/azureList.ts";

const answered = (bodyAsText: string, status = 200) => ({ status, bodyAsText });

describe("the text of a list", () => {
  it("goes to the asker, and an empty list to the SDK, however many ask at once", async () => {
    const texts = ["<a>one</a>", "<a>two</a>", "<a>three</a>"];
    const asked = texts.map((text) =>
      withListText(async () => {
        await turn();
        return keepListText(answered(text)).bodyAsText;
      }),
    );
    const all = await Promise.all(asked);
    expect(all.map(({ text }) => text)).toEqual(texts);
    for (const { answer } of all) expect(answer).toMatch(/<EnumerationResults><Blobs\/>/);
  });

  it("is the last one's where the SDK asks again", async () => {
    const { text } = await withListText(async () => {
      expect(keepListText(answered("busy", 503))).toEqual(answered("busy", 503));
      return keepListText(answered("list"));
    });
    expect(text).toBe("list");
  });

  it("stays in the answer where nobody asked for it", async () => {
    await withListText(async () => keepListText(answered("mine")));
    expect(keepListText(answered("any"))).toEqual(answered("any"));
  });

  it("is missed when no list came", async () => {
    await expect(withListText(async () => keepListText(answered("no", 404)))).rejects.toThrow(
      "outside of the call",
    );
  });
});
