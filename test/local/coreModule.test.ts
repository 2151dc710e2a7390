import { describe, expect, it } from "vitest";
import { makeCoreModule } from "../../src/local/host/coreModule.ts";

const metadata = { name: "one", bindings: {} };

describe("the core module", () => {
  it("collects functions and hooks, and drops those that are disposed of", () => {
    const { module, registrations } = makeCoreModule(() => undefined);
    const kept = module.registerHook("preInvocation", () => "kept");
    const dropped = module.registerHook("preInvocation", () => "dropped");
    const registered = module.registerFunction(metadata, () => 1);
    expect(registrations.hooks("preInvocation")).toHaveLength(2);
    dropped.dispose();
    dropped.dispose();
    expect(registrations.hooks("preInvocation").map((hook) => hook({}))).toEqual(["kept"]);
    kept.dispose();
    registered.dispose();
    expect(registrations.hooks("preInvocation")).toEqual([]);
    expect([...registrations.functions]).toEqual([]);
  });

  it("refuses a second function of the same name and an unknown hook", () => {
    const { module } = makeCoreModule(() => undefined);
    module.registerFunction(metadata, () => 1);
    expect(() => module.registerFunction(metadata, () => 2)).toThrow('"one" is registered already');
    expect(() => module.registerHook("never", () => 1)).toThrow(RangeError);
  });

  it("refuses functions once the app has started", () => {
    const { module, registrations } = makeCoreModule(() => undefined);
    registrations.close();
    expect(() => module.registerFunction(metadata, () => 1)).toThrow("after the app has started");
  });
});
