import { describe, expect, it, test } from "vitest";
import { cut, html, jsonText, table } from "../../../src/client/report/html.ts";

describe("what is put into HTML", () => {
  it.each([
    ["<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"],
    [`" onload="x`, "&quot; onload=&quot;x"],
    ["' onload='x", "&#39; onload=&#39;x"],
    ["a & b &amp; c", "a &amp; b &amp;amp; c"],
    ["</style><!--", "&lt;/style&gt;&lt;!--"],
    ["safe\u202egpj.exe\u0000", "safe\ufffdgpj.exe\ufffd"],
    ["\ud800", "\ufffd"],
    ["two\nlines\t", "two\nlines\t"],
  ])("is text: %j", (text, escaped) => {
    expect(html`<p title="${text}">${text}</p>`.text).toBe(`<p title="${escaped}">${escaped}</p>`);
  });

  it("is HTML only if a template made it, in lists too", () => {
    const inner = html`<b>${"<i>"}</b>`;
    expect(html`${inner}${[inner, "<u>", 3, undefined, false]}`.text).toBe(
      "<b>&lt;i&gt;</b><b>&lt;i&gt;</b>&lt;u&gt;3",
    );
  });
});

it("a table aligns numbers without a style sheet, and escapes titles, cells and caption", () => {
  const { text } = table(["<a>", { right: "N" }], [["<b>", 7]], "<c>");
  expect(text).toContain("<caption>&lt;c&gt;</caption>");
  expect(text).toContain('<th scope="col">&lt;a&gt;</th><th scope="col" class="n" align="right">N</th>');
  expect(text).toContain('<td>&lt;b&gt;</td><td class="n" align="right">7</td>');
});

test("a cut text says how much is missing", () => {
  expect(cut("abc", 3)).toBe("abc");
  expect(cut("abcdef", 2)).toBe("ab … (4 more characters)");
});

test("JSON for people is the same value, with short parts on one line", () => {
  const value = {
    a: 1,
    list: Array.from({ length: 30 }, (_, from) => ({ from, to: from + 1 })),
    none: {},
    s: 'x"y',
  };
  const text = jsonText(value);
  expect(JSON.parse(text)).toEqual(value);
  expect(text).toContain('\n    {"from":3,"to":4},\n');
  expect(jsonText({ a: 1 })).toBe('{"a":1}');
  expect(jsonText([])).toBe("[]");
});
