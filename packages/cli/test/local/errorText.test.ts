import { describe, expect, test } from "vitest";
import { CalculationError, StorageError } from "../../../../src/engine/model/errors.ts";
import { errorText } from "../../../../src/host/invoker.ts";

/** As another bundle has it: the same fields, but not our class. */
const fromBundle = (error: Error): Error =>
  Object.assign(new Error(error.message), { ...error, stack: error.stack });

describe("the log line of an error that a handler threw", () => {
  test("is the message of an error of Leasefold, whichever bundle made it", () => {
    const error = new StorageError("busy", "ServerBusy", 503, "slow down");
    expect([errorText(error), errorText(fromBundle(error))]).toEqual(["slow down", "slow down"]);
  });

  test("is the stack of user code where a calculation failed, and has no frame of a bundle", () => {
    const stack = "CalculationError: chunk 7: boom (deep.ts:2)\n    at deep (/app/deep.ts:2:9)";
    const error = new CalculationError("calculation-threw", "chunk 7: boom (deep.ts:2)", {
      details: { stack },
    });
    expect([errorText(error), errorText(fromBundle(error))]).toEqual([stack, stack]);
  });

  test("is the stack of any other error, also of one with a code and details", () => {
    const strange = Object.assign(new Error("boom"), { code: "X", details: { errorCode: "X" } });
    expect(errorText(strange)).toContain("errorText.test.ts");
    expect(errorText("text")).toBe("text");
  });
});
