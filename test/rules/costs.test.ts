import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/OPERATIONS.md"), "utf8");

/** Rows of tables whose last column is a sum in dollars: what, assumption, arithmetic, dollars. */
const rows = page
  .split(/\n\n/)
  .filter((block) => /\| arithmetic \| \$ \|\n/.test(block))
  .flatMap((table) => table.split("\n").slice(2))
  .map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

/** `4 × $1.50 + 5 × $0.50`: products and their sum, in numbers alone. */
function computed(arithmetic: string): number {
  const plain = arithmetic.replaceAll(",", "").replaceAll("$", "");
  if (!/^[\d.]+( [×+] [\d.]+)*$/.test(plain)) throw new Error(`no arithmetic: ${arithmetic}`);
  return plain
    .split(" + ")
    .map((product) => product.split(" × ").reduce((sum, factor) => sum * Number(factor), 1))
    .reduce((sum, one) => sum + one, 0);
}

test("every cost of docs/OPERATIONS.md is what its arithmetic gives", () => {
  expect(rows.length).toBeGreaterThan(10);
  const wrong = rows.filter(([, , arithmetic = "", dollars]) => computed(arithmetic).toFixed(2) !== dollars);
  expect(wrong.map(([what, , arithmetic = ""]) => `${what}: ${computed(arithmetic).toFixed(2)}`)).toEqual([]);
});

test("every cost says where its assumption is from: a link, a setting, a price of the list, or that it is estimated", () => {
  const from = /\]\(|`\w+`|list price|estimated|the least that is billed/;
  expect(rows.filter(([, assumption = ""]) => !from.test(assumption)).map(([what]) => what)).toEqual([]);
});

/** Figures with a unit of time, size or money. */
const figure = /(?<![\w`.-])\$?\d[\d,.]*\s?(?:s|ms|seconds?|minutes?|KB|MB|GB|%)(?![\w-])/;
/** What may stand beside a figure: its source, a setting in code font, or the word for a guess. */
const sourced = /\]\(|https?:|estimated|`[^`]+`|\btest\/|list price|measured|counted|the query|sampled/;

test("OPERATIONS has no figure without a source, a setting or the word estimated in its paragraph or row", () => {
  const bare = ["docs/OPERATIONS.md"].flatMap((file) =>
    readFileSync(join(root, file), "utf8")
      .replace(/```[\s\S]*?```/g, "")
      .split(/\n\n/)
      .flatMap((block, at, all) => {
        if (!block.startsWith("|")) return [block];
        // A sentence that ends in a colon speaks for the table below it.
        const before = all[at - 1] ?? "";
        return before.endsWith(":") && sourced.test(before) ? [] : block.split("\n");
      })
      .filter((part) => figure.test(part) && !sourced.test(part))
      .map((part) => `${file}: ${figure.exec(part)?.[0]}: ${part.slice(0, 90)}`),
  );
  expect(bare).toEqual([]);
});
