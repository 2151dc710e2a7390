import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { filmSvg } from "./pictures/filmSvg.ts";
import { framesOf, thinned } from "./pictures/terminalFrames.ts";
import { terminalSvg } from "./pictures/terminalSvg.ts";

const images = join(import.meta.dirname, "../../../../docs/images");
const up = (lines: number): string => `\u001b[${lines}F\u001b[J`;

test("frames are what a terminal shows after each write of a live screen", () => {
  const frames = framesOf([
    { atMs: 0, text: "starting\n" },
    { atMs: 10, text: "\r\u001b[2Kone\n\u001b[2K\u001b[32mtwo\u001b[39m" },
    { atMs: 20, text: `${up(1)}\u001b[2Kthree\n\u001b[2Kfour\n\u001b[2Kfive` },
    { atMs: 30, text: "" },
    { atMs: 40, text: `${up(2)}\u001b[2Ksix` },
    { atMs: 50, text: "\ndone\r\n" },
  ]);
  expect(frames.map(({ atMs, lines }) => [atMs, ...lines])).toEqual([
    [0, "starting", ""],
    [10, "starting", "one", "\u001b[32mtwo\u001b[39m"],
    [20, "starting", "three", "four", "five"],
    [40, "starting", "six"],
    [50, "starting", "six", "done", ""],
  ]);
  expect(thinned(frames, 30).map(({ atMs }) => atMs)).toEqual([20, 50]);
  expect(() => framesOf([{ atMs: 0, text: "a\u001b[3Db" }])).toThrow('no frame is known for "\\u001b[3D"');
});

test("a film shows each picture for its time, and text of others as text", () => {
  const frame = (line: string) => ({ atMs: 0, lines: [line, "same"] });
  const svg = terminalSvg([frame("\u001b[31m<b>\u001b[39m  x"), frame("y")], 'a "title"', 20, (index) =>
    index === 0 ? 1_000 : 3_000,
  );
  expect(svg).toContain(
    "@keyframes film{0.00%{transform:translateY(-0px)}25.00%{transform:translateY(-70px)}",
  );
  expect(svg).toContain("animation:film 4000ms step-end infinite");
  expect(svg).toContain(' class="r">&#60;b&#62;</text>');
  expect(svg).toContain("<title>a &#34;title&#34;</title>");
  expect(svg.match(/>same</g)).toHaveLength(1);
  const still = filmSvg({ width: 1, height: 1, title: "", style: "", pictures: [{ markup: "", ms: 1 }] });
  expect(still).toContain("prefers-reduced-motion");
});

test("the films of the README are small, have no script, and show a takeover", () => {
  for (const name of ["demo.svg", "demo-still.svg", "takeover.svg"]) {
    expect(statSync(join(images, name)).size, name).toBeLessThan(300_000);
    expect(readFileSync(join(images, name), "utf8")).not.toMatch(
      /<script|https?:\/\/(?!www\.w3\.org|127\.0\.0\.1)/,
    );
  }
  expect(readFileSync(join(images, "demo.svg"), "utf8")).toMatch(/took over in term \d+/);
});
