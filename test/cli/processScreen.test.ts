import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { screenOf } from "../../src/cli/render/processScreen.ts";
import { wrap } from "../../src/cli/render/text.ts";

it.each([0, undefined])("A terminal that reports %s columns is taken for one of 80", (columns) => {
  const stream = Object.assign(new Writable(), { isTTY: true, columns, fd: 1 });
  const screen = screenOf(stream as unknown as NodeJS.WriteStream & { fd: 1 }, {});
  expect([screen.isTty, screen.columns]).toEqual([true, 80]);
});

it.each([1, 0, -7])("Text is wrapped on a screen of %s columns, however few those are", (width) => {
  expect(wrap("ab c", width)).toEqual(["a", "b", "c"]);
});
