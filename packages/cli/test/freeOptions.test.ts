import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { AnyCalculation } from "../../../src/engine/calculation/contract.ts";
import { describeParams, parseParams } from "../../../src/engine/calculation/params.ts";
import { optionOf } from "../../../src/engine/model/json.ts";
import { calculations } from "../../../test/client/clientWorld.ts";
import { readFreeOptions } from "../freeOptions.ts";

const rows = calculations.describeParams(calculations.get("sum"));
const read = (line: string, pairs: string[] = []) =>
  readFreeOptions(line.split(" ").filter(Boolean), pairs, rows, ["--wait", "--json"]);

describe("the parameters of a calculation on the command line", () => {
  it.each([
    ["--to 1e9", { to: 1e9 }],
    ["--to=1e9", { to: 1e9 }],
    ["--to -5", { to: -5 }],
    ["--label 7", { label: "7" }],
    ["--label=a=b", { label: "a=b" }],
    ["--label=", { label: "" }],
    ["--exact", { exact: true }],
    ["--exact --to 3", { exact: true, to: 3 }],
    ["--exact false", { exact: false }],
    ["--max-size 2.5", { maxSize: 2.5 }],
    ["--maxSize 2.5", { maxSize: 2.5 }],
    ["", {}],
  ])("%s is read by the type in the schema", (line, params) => {
    expect(read(line)).toEqual(params);
  });

  it.each([
    ["to", "--to"],
    ["quotedNewlines", "--quoted-newlines"],
    ["c2x", "--c2x"],
    ["snake_Case", "--snake_Case"],
    ["Upper", "--Upper"],
  ])("the parameter %s is the option %s", (name, option) => {
    expect(optionOf(name)).toBe(option);
    const row = { name, type: "string", description: "" };
    expect(readFreeOptions([option, "x"], [], [row])).toEqual({ [name]: "x" });
  });

  it("a parameter may be given as name=value if an option of Leasefold has its name", () => {
    expect(read("--to 3", ["label=x=y", "max-size=4"])).toEqual({ to: 3, label: "x=y", maxSize: 4 });
  });

  it("a list takes one value of each time that it is given", () => {
    const rows = [{ name: "table", type: "string | array", description: "" }];
    const given = (line: string) => readFreeOptions(line.split(" "), [], rows);
    expect(given("--table a=1")).toEqual({ table: "a=1" });
    expect(given("--table a=1 --table b=2 --table c=3")).toEqual({ table: ["a=1", "b=2", "c=3"] });
  });

  it("a value that does not fit its type is left to the schema to refuse", () => {
    expect(read("--to many")).toEqual({ to: "many" });
    expect(read("--exact maybe")).toEqual({ exact: "maybe" });
  });

  it.each([
    ["--xyz 5", "unknown parameter: --xyz: the parameters are --to,"],
    ["--wiat", "unknown parameter: --wiat (did you mean --wait?): the parameters are --to,"],
    ["--max-sise 5", "unknown parameter: --max-sise (did you mean --max-size?)"],
    [
      "--too 5",
      "unknown parameter: --too (did you mean --to?): the parameters are --to, --label, --exact, --max-size",
    ],
    ["--to", "--to needs a value"],
    ["--to --exact", "--to needs a value"],
    ["--to 1 --to 2", "--to is given twice"],
    ["five", "unexpected argument: five"],
    ["-t 5", "unexpected argument: -t"],
  ])("%s is refused", (line, message) => {
    expect(() => read(line)).toThrow(message);
  });

  it.each([
    ["--step 1", { step: 1 }],
    ["--step two", { step: "two" }],
    ["--step true", { step: true }],
    ["--level 2", { level: 2 }],
    ["--digit 2", { digit: "2" }],
    ["--choice 1", { choice: 1 }],
    ["--choice null", { choice: null }],
    ["--limit null", { limit: null }],
    ["--limit 5", { limit: 5 }],
    ["--note null", { note: "null" }],
  ])("%s is given as the value that the schema lists, or as null where only null fits", (line, given) => {
    const params = z.object({
      step: z.literal([1, "two", true]),
      level: z.enum({ low: 1, high: 2 }),
      digit: z.enum(["1", "2"]),
      choice: z.literal([1, 2]).nullable(),
      limit: z.number().nullable(),
      note: z.string().nullable(),
    });
    const calculation = { ...calculations.get("sum"), params: params.partial() } as unknown as AnyCalculation;
    const read = readFreeOptions(line.split(" "), [], describeParams(calculation));
    expect(read).toEqual(given);
    expect(parseParams(calculation, read)).toEqual(given);
  });

  it("refuses a pair without a name", () => {
    expect(() => read("", ["=5"])).toThrow("invalid --param: =5: must be name=value");
    expect(() => read("", ["nothing=5"])).toThrow("unknown parameter: --param nothing");
  });
});
