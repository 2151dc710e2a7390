import assert from "node:assert/strict";
import { test } from "node:test";
import { inflateSync } from "node:zlib";
import { runSerially } from "leasefold";
import { brokenLaws } from "leasefold/check";
// biome-ignore lint/suspicious/noTsIgnore: it must also hold where the setting is on.
// @ts-ignore: Node needs the ending, which TypeScript takes only with allowImportingTsExtensions.
import calculation from "./mandelbrot.ts";

const whole = { width: 300, height: 250, centerX: -0.5, centerY: 0, span: 3, iterations: 500 };

test("the black part of a picture of the whole set has its area, and the picture is symmetric", async () => {
  const { body, contentType } = await runSerially(calculation, whole);
  assert.equal(contentType, "image/png");
  const file = Buffer.from(body);
  const at = file.indexOf("IDAT");
  const rows = inflateSync(file.subarray(at + 4, at + 4 + file.readUInt32BE(at - 4)));
  const { width, height, span } = whole;
  assert.equal(rows.length, height * (width + 1));
  const row = (y: number) => rows.subarray(y * (width + 1) + 1, (y + 1) * (width + 1));
  for (let y = 0; y < height; y += 1) assert.deepEqual(row(y), row(height - 1 - y));
  const black = rows.filter((color) => color === 255).length;
  // About 1.5066 by T. Förstemann, "Numerical estimation of the area of the Mandelbrot set".
  assert.ok(Math.abs(black * (span / width) ** 2 - 1.5066) < 0.02);
});

test("the calculation keeps the laws", async () => {
  assert.deepEqual(await brokenLaws(calculation, { ...whole, width: 40, height: 50 }), []);
});
