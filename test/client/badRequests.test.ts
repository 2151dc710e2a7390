import { describe, expect, it } from "vitest";
import { checkRequest } from "../../src/engine/client/runRequest.ts";
import { edgeOf } from "../../src/engine/model/errors.ts";
import { calculations, failureOf } from "./clientWorld.ts";

const good = { calculation: "sum", params: { to: 1 } };

describe("a bad request", () => {
  it.each([
    ["an unknown calculation", { calculation: "nothing" }, "calculation", 400],
    ["a missing parameter", { params: {} }, "to", 400],
    ["a parameter of the wrong type", { params: { to: "many" } }, "to", 400],
    ["a number that is too large", { params: { to: 1e16 } }, "to", 400],
    ["an id with a slash", { id: "a/b" }, "id", 400],
    ["an id of 300 characters", { id: "a".repeat(300) }, "id", 400],
    ["an empty id", { id: "" }, "id", 400],
    ["a negative pack size", { packSize: -1 }, "packSize", 400],
    ["a pack size of nothing", { packSize: 0 }, "packSize", 400],
    ["an absurd pack size", { packSize: 10_000_001 }, "packSize", 400],
    ["half a pack size", { packSize: 1.5 }, "packSize", 400],
    ["a cap of 0", { cap: 0 }, "cap", 400],
    ["a cap above the limit", { cap: 100_001 }, "cap", 400],
    ["a cap that is no number", { cap: Number.NaN }, "cap", 400],
    ["a tolerance of 101 %", { tolerate: { percent: 101 } }, "tolerate", 400],
    ["a tolerance that is text", { tolerate: "1%" }, "tolerate", 400],
    ["a tolerance of two kinds", { tolerate: { chunks: 1, percent: 1 } }, "tolerate", 400],
    ["a tolerance of half a chunk", { tolerate: { chunks: 0.5 } }, "tolerate", 400],
    ["no tolerance but its name", { tolerate: null }, "tolerate", 400],
    ["a cap of one and a half", { cap: 1.5 }, "cap", 400],
    ["a negative tolerance", { tolerate: { chunks: -1 } }, "tolerate", 400],
    ["a pack limit of nothing", { packLimitMs: 0 }, "packLimitMs", 400],
    ["a pack limit of more than a day", { packLimitMs: 86_400_001 }, "packLimitMs", 400],
    ["a pack limit of half a millisecond", { packLimitMs: 0.5 }, "packLimitMs", 400],
    ["no attempts", { attempts: 0 }, "attempts", 400],
    ["more attempts than the limit", { attempts: 101 }, "attempts", 400],
    ["one and a half attempts", { attempts: 1.5 }, "attempts", 400],
    ["a deadline of nothing", { deadline: { ms: 0 } }, "deadline", 400],
    ["a deadline of more than a year", { deadline: { ms: 31_536_000_001 } }, "deadline", 400],
    ["a deadline of half a millisecond", { deadline: { ms: 0.5 } }, "deadline", 400],
    ["a deadline that is a number", { deadline: 5_000 }, "deadline", 400],
    ["a deadline that keeps without a time", { deadline: { keep: true } }, "deadline", 400],
    ["a deadline that keeps in text", { deadline: { ms: 1, keep: "yes" } }, "deadline", 400],
    ["a deadline with an unknown field", { deadline: { ms: 1, s: 1 } }, "deadline", 400],
    ["no deadline but its name", { deadline: null }, "deadline", 400],
    ["parameters of a megabyte", { params: { to: 1, label: "x".repeat(1_000_000) } }, "params", 400],
  ])("with %s is refused, naming the field", async (_what, change, field, httpStatus) => {
    const error = await failureOf(
      (async () => {
        checkRequest({ ...good, ...(change as object) }, calculations);
      })(),
    );
    expect(String(error)).toContain(`${field}:`);
    expect(error).toMatchObject({ details: { field } });
    expect(edgeOf(error)).toMatchObject({ httpStatus, exitCode: 2 });
  });

  it("names the limit that it breaks", async () => {
    const check = (change: object) =>
      failureOf((async () => checkRequest({ ...good, ...change }, calculations))());
    expect(String(await check({ packSize: 1e9 }))).toContain("10000000");
    expect(String(await check({ cap: 1e9 }))).toContain("100000");
    expect(String(await check({ packLimitMs: 1e9 }))).toContain("from 1 to 86400000");
    expect(String(await check({ attempts: 1e9 }))).toContain("from 1 to 100");
    expect(String(await check({ deadline: { ms: 1e12 } }))).toContain("from 1 to 31536000000");
    expect(String(await check({ params: { to: 1, label: "x".repeat(300_000) } }))).toContain("262144");
    expect(String(await check({ id: "a b" }))).toContain("1 to 63 letters");
  });
});
