import { describe, expect, it } from "vitest";
import { makeCoreModule, parseable, type TypedData } from "../../../../src/host/coreModule.ts";

const metadata = { name: "one", bindings: {} };

describe("the core module", () => {
  it("collects functions and the hooks of the app's end", () => {
    const { module, registrations } = makeCoreModule(() => undefined);
    module.registerHook("appTerminate", () => "ended");
    module.registerFunction(metadata, () => 1);
    expect(registrations.terminateHooks.map((hook) => hook({}))).toEqual(["ended"]);
    expect([...registrations.functions.keys()]).toEqual(["one"]);
  });

  it("refuses a second function of the same name and any other hook, which would never run", () => {
    const { module } = makeCoreModule(() => undefined);
    module.registerFunction(metadata, () => 1);
    expect(() => module.registerFunction(metadata, () => 2)).toThrow('"one" is registered already');
    expect(() => module.registerHook("preInvocation", () => 1)).toThrow(RangeError);
  });

  it("refuses functions once the app has started", () => {
    const { module, registrations } = makeCoreModule(() => undefined);
    registrations.close();
    expect(() => module.registerFunction(metadata, () => 1)).toThrow("after the app has started");
  });
});

describe("a text for the library", () => {
  /** As the library reads data: a text is parsed, and taken as it is if that throws. */
  const read = ({ json, string = "" }: TypedData): unknown => {
    if (json !== undefined) return JSON.parse(json);
    try {
      return JSON.parse(string);
    } catch {
      return string;
    }
  };

  it("means the same whether it may be JSON or not", () => {
    const json = ["1", "-1.5e+3", " true ", "null\n", '"a"', '{"a":[1]}', "[]", "\t[1]", "false"];
    const texts = [
      "",
      " ",
      "-",
      "1e",
      "1 2",
      "tru",
      "nullx",
      "{",
      "[1",
      '"',
      "\u00a0{}",
      "\ufeff1",
      "NaN",
      "0x1",
    ];
    for (const text of [...json, ...texts])
      expect([text, read(parseable({ string: text }))]).toEqual([text, read({ string: text })]);
    expect(parseable({ json: "1" })).toEqual({ json: "1" });
  });

  it("comes as JSON where the library would make an error to see that it is none", () => {
    const ofMessages = [
      "compute",
      "chain-20261122-dc62xx",
      "3f2a0c1e-0000-4000-8000-a1b2c3d4e5f6",
      "MjJOb3YyMDI2MTU6MDA=",
    ];
    for (const text of ofMessages)
      expect(parseable({ string: text })).toEqual({ json: JSON.stringify(text) });
  });
});
