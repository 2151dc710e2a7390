import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { messageOf } from "../../src/engine/model/errors.ts";

const circular: Record<string, unknown> = {};
circular["self"] = circular;

test.each<[string, unknown, string]>([
  ["an error", new TypeError("no number"), "no number"],
  ["an error of another realm", runInNewContext('new Error("elsewhere")'), "Error: elsewhere"],
  ["a text", "plain", "plain"],
  ["nothing", undefined, "undefined"],
  ["an object", { code: 5, why: ["late"] }, '{"code":5,"why":["late"]}'],
  ["an object with a text of its own", { toString: () => "mine" }, "mine"],
  ["an object that holds itself", circular, "[object Object]"],
  ["an object without JSON", { toJSON: () => undefined }, "[object Object]"],
  ["an object without a prototype", Object.assign(Object.create(null), { code: 5 }), '{"code":5}'],
])("the message of %s that was thrown tells what it is", (_what, thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});
