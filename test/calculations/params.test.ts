import { describe, expect, test } from "vitest";
import { describeParams, parseParams } from "../../src/calculations/params.ts";
import { primes } from "../../src/calculations/primes.ts";
import { InputError } from "../../src/model/errors.ts";

describe("parameters", () => {
  test("text from a command line becomes numbers, and defaults are filled in", () => {
    expect(parseParams(primes, { to: "1e11" })).toEqual({ to: 100_000_000_000, from: 0 });
    expect(parseParams(primes, {})).toEqual({ to: 1_000_000_000, from: 0 });
  });

  test.each([
    [{ to: "1e15" }, "to", /^to: .*100000000000000/],
    [{ to: -1 }, "to", /^to: .*0/],
    [{ to: "many" }, "to", /^to: .*number/],
    [{ from: 1.5 }, "from", /^from: .*int/],
    [{ to: "abc" }, "to", /^to: expected a number, received "abc"/],
    [{ to: "" }, "to", /^to: expected a number, received ""/],
    [{ to: " " }, "to", /^to: expected a number/],
    [{ to: null }, "to", /^to: expected a number, received null/],
    [{ to: true }, "to", /^to: expected a number, received true/],
    [{ to: [5] }, "to", /^to: expected a number/],
    [{ from: 100, to: 10 }, "from", /^from: must not be above to, which is 10$/],
    [{ from: 1e9 + 1 }, "from", /^from: must not be above to, which is 1000000000$/],
    [{ form: 3 }, "form", /^form: Unrecognized/],
    [[], "params", /^params: .*object/],
    ["to=3", "params", /^params: .*object/],
    [null, "params", /^params: .*object/],
  ])("%j is refused, naming field and limit", (raw, field, message) => {
    const error = thrownBy(() => parseParams(primes, raw));
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({ reason: "invalid", code: "bad-parameter", details: { field } });
    expect((error as Error).message).toMatch(message);
  });

  test("the help of parameters is made from their schema", () => {
    expect(describeParams(primes)).toEqual([
      { name: "to", type: "integer", default: 1_000_000_000, description: expect.stringContaining("count") },
      { name: "from", type: "integer", default: 0, description: expect.any(String) },
    ]);
  });
});

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return expect.fail("nothing was thrown");
}
