import { PassThrough, Writable } from "node:stream";
import { expect, it } from "vitest";
import { linesOf } from "../check/checkRows.ts";
import { confirmWith } from "../main.ts";
import { screenOf } from "../render/processScreen.ts";
import { clipped, table } from "../render/table.ts";
import { wrap } from "../render/text.ts";

it.each([0, undefined])("A terminal that reports %s columns is taken for one of 80", (columns) => {
  const stream = Object.assign(new Writable(), { isTTY: true, columns, fd: 1 });
  const screen = screenOf(stream as unknown as NodeJS.WriteStream & { fd: 1 }, {});
  expect([screen.isTty, screen.columns]).toEqual([true, 80]);
});

it("What is no terminal has no width, so that nothing is cut for a program", () => {
  const stream = Object.assign(new Writable(), { isTTY: false, columns: undefined, fd: 1 });
  const screen = screenOf(stream as unknown as NodeJS.WriteStream & { fd: 1 }, {});
  expect(screen.columns).toBe(Number.POSITIVE_INFINITY);
  const long = "word ".repeat(100).trim();
  expect(table(screen, ["A", clipped("B")], [["a", long]])).toContain(long);
  const row = { law: "plan", says: "plan", outcome: "holds", text: long, ms: 5 } as const;
  expect(linesOf(row, screen)).toEqual([expect.stringContaining(`${long} `)]);
});

it.each([1, 0, -7])("Text is wrapped on a screen of %s columns, however few those are", (width) => {
  expect(wrap("ab c", width)).toEqual(["a", "b", "c"]);
});

it.each([
  ["y\n", true],
  ["Yes\n", true],
  ["\n", false],
  ["nope\n", false],
  ["", false],
])(
  "A question that is answered by %j is taken as %s, and the end of the input as a no",
  async (answer, taken) => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const asked = confirmWith(input, output, new AbortController().signal)("Sure?");
    input.end(answer);
    expect(await asked).toBe(taken);
    expect(String(output.read())).toBe("Sure? [y/N] ");
  },
);
