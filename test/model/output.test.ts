import { describe, expect, test } from "vitest";
import { CorruptDataError } from "../../src/engine/model/errors.ts";
import {
  decodeFoldFacts,
  decodeVerified,
  encodeFoldFacts,
  encodeVerified,
  outputContentType,
  parseOutputFacts,
} from "../../src/engine/model/output.ts";

describe("what an output tells in its content type", () => {
  test("comes back as it was, the version of its code included", () => {
    const facts = { ms: 812, attempt: 2, code: "leasefold 1.2.3" };
    const text = outputContentType("application/json", facts);
    expect(text).toMatch(/^[\x21-\x7e]+(; [\x21-\x7e]+)*$/);
    expect(parseOutputFacts(text)).toEqual(facts);
  });

  test("is nothing where it is absent or odd", () => {
    const nothing = { ms: 0, attempt: 0 };
    expect(parseOutputFacts("text/plain")).toEqual(nothing);
    expect(parseOutputFacts("a/b; ms=-3; attempt=x")).toEqual(nothing);
    expect(parseOutputFacts("a/b; code=100%").code).toBe("100%");
  });
});

describe("what a node tells in its metadata", () => {
  test("comes back as it was", () => {
    const shard = { members: "Ag", folded: 7, attempts: 9, code: ["leasefold 1.2.3", "sha256:0123456789ab"] };
    expect(decodeFoldFacts(encodeFoldFacts(shard), "n")).toEqual(shard);
    const nothing = { folded: 0, attempts: 0, code: [] };
    expect(decodeFoldFacts(encodeFoldFacts(nothing), "n")).toEqual(nothing);
    expect(Object.values(encodeFoldFacts(nothing))).not.toContain("");
  });

  test("stays small, however many versions there were", () => {
    const code = Array.from({ length: 500 }, (_, at) => `sha256:${String(at).padStart(12, "0")}`);
    const bytes = JSON.stringify(encodeFoldFacts({ folded: 1, attempts: 1, code })).length;
    expect(bytes).toBeLessThan(500);
  });

  test.each([{}, { folded: "", attempts: "1", code: "" }, { folded: "1e3", attempts: "1", code: "" }])(
    "is corrupt where a count is missing or none: %j",
    (metadata) => {
      expect(() => decodeFoldFacts(metadata, "n")).toThrow(CorruptDataError);
    },
  );
});

describe("what verifying a pack gave", () => {
  test("comes back as it was, and fits into headers", () => {
    const right = { sha256: "ab".repeat(32), ms: 12 };
    const wrong = { error: { code: "calculation-threw", message: "ünlucky\nchunk" } };
    const mute = { error: { code: "calculation-threw", message: "" } };
    for (const one of [right, wrong, mute]) {
      const metadata = encodeVerified(one);
      for (const value of Object.values(metadata)) expect(value).toMatch(/^[\x21-\x7e]+$/);
      expect(decodeVerified(metadata, "v")).toEqual(one);
    }
    expect(() => decodeVerified({ sha256: "no" }, "v")).toThrow(CorruptDataError);
  });
});
