import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { builtIn } from "../../packages/sql/builtIn.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";

/** The pages are held against the code, the checkers of the simulation and each other. */

const root = resolve(import.meta.dirname, "../..");
const read = (file: string): string => readFileSync(join(root, file), "utf8");
const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name));

const pages = [
  ...filesIn("docs", /\.md$/),
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...filesIn("src", /\.md$/),
  ...filesIn("packages", /\.md$/),
];
const sources = [...filesIn("src", /\.ts$/), ...filesIn("packages", /\.ts$/)];
const code = [...sources, ...filesIn("test", /\.ts$/), ...filesIn("scripts", /\.(ts|mjs)$/)];
const architecture = read("docs/ARCHITECTURE.md");
/** The rules about work in flight stand in a page beside their code. */
const protocol =
  architecture.slice(0, architecture.indexOf("## 5.")) + read("src/engine/leader/inFlight/README.md");

const rowsOf = (header: RegExp, text: string): string[][] =>
  text
    .split(/\n\n/)
    .filter((block) => header.test(block))
    .flatMap((table) => table.trim().split("\n").slice(2))
    .map((row) =>
      row
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

const declares = (text: string, name: string): boolean =>
  new RegExp(`\\b(?:function|const|class|interface) ${name}\\b`).test(text);

/** The source of a file of `src/engine`, or of all files of a folder there. */
const inEngine = (name: string): string => {
  const path = join("src/engine", name);
  return name.endsWith(".ts") ? read(path) : filesIn(path, /\.ts$/).map(read).join("\n");
};

/** As the code host makes it of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

test("every link of a page leads to a file, and to a heading where it names one", () => {
  const broken = pages.flatMap((page) =>
    [...read(page).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)/g)].flatMap(([link, file, anchor]) => {
      const target = file ? join(dirname(page), file) : page;
      if (!existsSync(join(root, target))) return [`${page}: ${link}`];
      if (anchor === undefined || !target.endsWith(".md")) return [];
      const headings = [...read(target).matchAll(/^#+ (.*)$/gm)].map(([, text]) => anchorOf(text ?? ""));
      return headings.includes(anchor) ? [] : [`${page}: ${link}`];
    }),
  );
  expect(broken).toEqual([]);
});

test("no page and no source has the marks of a merge that was not resolved", () => {
  const marked = [...pages, ...code].filter((file) => /^(?:<{7}|>{7}) /m.test(read(file)));
  expect(marked).toEqual([]);
});

test("every page that code cites exists, and so does every file of the project that a page names", () => {
  const cited = code.flatMap((file) =>
    [...read(file).matchAll(/\b((?:docs\/)?[A-Z]{4,}\.md)\b/g)]
      .filter(([, page]) => !existsSync(join(root, page as string)))
      .map(([page]) => `${file}: ${page}`),
  );
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/`((?:src|test|scripts|infra|examples|bin)\/[\w./-]+)`/g)]
      .filter(([, file]) => !/NAME/.test(file ?? "") && !existsSync(join(root, file as string)))
      .map(([, file]) => `${page}: ${file}`),
  );
  expect([...cited, ...named]).toEqual([]);
});

test("every rule has its number, its row, the functions that keep it and a checker or test that watches it", () => {
  const numbered = [...protocol.matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) => Number(number));
  numbered.sort((a, b) => a - b);
  expect(numbered).toEqual([...new Set(numbered)]);
  const rows = rowsOf(/^\| rule \| kept by/m, protocol);
  expect(rows.map(([rule]) => Number(rule)).sort((a, b) => a - b)).toEqual(numbered);

  const text = sources.map(read).join("\n");
  const isDeclared = (name: string): boolean =>
    declares(text, name) || new RegExp(`\\b(?:async )?${name}\\(`).test(text);
  const placed = rows.flatMap(([rule, keptBy = ""]) =>
    [...keptBy.matchAll(/`([^`]+)` in `([^`]+)`/g)]
      .filter(([, name, where]) => !declares(inEngine(where as string), name as string))
      .map(([place]) => `rule ${rule}: ${place}`),
  );
  expect(placed).toEqual([]);
  const checkers = read("test/sim/engine/checks/judge.ts");
  const unknown = rows.flatMap(([rule, keptBy = "", watchedBy = ""]) => [
    ...[...keptBy.matchAll(/`([^`]+)`/g)]
      .map(([, name]) => name as string)
      .filter((name) =>
        name.includes("/") ? !existsSync(join(root, "src/engine", name)) : !name.split(".").every(isDeclared),
      )
      .map((name) => `rule ${rule} is kept by ${name}`),
    ...watchedBy
      .split(";")
      .map((one) => one.trim())
      .filter((one) => {
        const file = /`(test\/[^`]+)`/.exec(one)?.[1];
        if (file !== undefined) return !existsSync(join(root, file));
        return one !== "no checker of its own" && !checkers.includes(`"${one}"`);
      })
      .map((one) => `rule ${rule} is watched by ${one}`),
  ]);
  expect(unknown).toEqual([]);
});

test("the rules that ARCHITECTURE says have mutants are those that have one", () => {
  const mutants = filesIn("test/sim/engine/mutants", /\.ts$/).map(read).join("\n");
  const mutated = new Set([...mutants.matchAll(/^ +rule: (\d+),/gm)].map(([, rule]) => Number(rule)));
  const told = /^Rules ([\d, to and]+) have mutants/m.exec(architecture)?.[1] ?? "";
  const numbers = [...told.matchAll(/(\d+)(?: to (\d+))?/g)].flatMap(([, from, to = from]) =>
    Array.from({ length: Number(to) - Number(from) + 1 }, (_, index) => Number(from) + index),
  );
  expect(numbers).toEqual([...mutated].sort((a, b) => a - b));
});

test("what follows a deletion by hand is played by the scenario that its row in OPERATIONS names", () => {
  const rows = rowsOf(/^\| deleted \|/, read("docs/OPERATIONS.md"));
  const played = rows.flatMap((row) => (row.at(-1) === "" ? [] : [row.at(-1) as string]));
  expect(played.length).toBeGreaterThan(8);
  const scenarios = filesIn("test/sim/engine/scenarios", /\.ts$/).map(read).join("\n");
  expect(played.filter((title) => !scenarios.includes(`"${title}"`))).toEqual([]);
});

test("every rule that code cites by number exists", () => {
  const last = Math.max(...rowsOf(/^\| rule \| kept by/m, protocol).map(([rule]) => Number(rule)));
  const cites = code.flatMap((file) =>
    [...read(file).matchAll(/(?:docs\/ARCHITECTURE|README)\.md, rules? (\d+)/g)].map(([cite, rule]) => ({
      file,
      cite,
      rule: Number(rule),
    })),
  );
  expect(cites.length).toBeGreaterThan(3);
  expect(cites.filter(({ rule }) => rule < 1 || rule > last)).toEqual([]);
  expect(code.filter((file) => /\bDESIGN\b/.test(read(file)) && !file.endsWith("docs.test.ts"))).toEqual([]);
});

test("each figure of the README is on the page that it names", () => {
  const rows = rowsOf(/^\| question \| figure \| page \|/, read("README.md"));
  expect(rows).toHaveLength(4);
  const missing = rows.flatMap(([question, figure = "", page = ""]) => {
    const file = /\]\(([^)#]+)/.exec(page)?.[1];
    const text = file === undefined ? "" : read(file);
    const numbers = figure.match(/\d[\d,.]*\d|\d/g) ?? [];
    if (numbers.length === 0) return [`${question}: no figure`];
    return numbers
      .filter(
        (number) => !new RegExp(`(?<![\\d.,])${number.replaceAll(".", "\\.")}(?![\\d]|[.,]\\d)`).test(text),
      )
      .map((number) => `${question}: ${number} is not in ${file}`);
  });
  expect(missing).toEqual([]);
});

test("there are at most 20 decisions, each with its reason, its cost and what would change our mind", () => {
  const entries = read("docs/DECISIONS.md").split(/^### /m).slice(1);
  expect(entries.length).toBeGreaterThan(10);
  expect(entries.length).toBeLessThanOrEqual(20);
  const parts = [/\*\*Decision\.\*\*/, /\*\*Why\.\*\*/, /\*\*Cost\.\*\*/, /\*\*Reopen if\*\*/];
  expect(
    entries.filter((entry) => !parts.every((part) => part.test(entry))).map((entry) => entry.split("\n")[0]),
  ).toEqual([]);
});

test("pages, help and errors name the options of calculations as the command line has them", async () => {
  const known = await loadCalculations([], builtIn);
  const camel = known
    .list()
    .flatMap((one) => known.describeParams(one).map(({ name }) => name))
    .filter((name) => /[A-Z]/.test(name));
  expect(camel).toContain("resultFormat");
  const spelled = new RegExp(`--(?:${camel.join("|")})\\b|\\b(?:${camel.join("|")})=\\S`, "g");
  expect("--resultFormat csv, rejectsMax=2".match(spelled)).toEqual(["--resultFormat", "rejectsMax=2"]);
  const found = [...pages, ...sources].flatMap((file) =>
    (read(file).match(spelled) ?? []).map((text) => `${file}: ${text}`),
  );
  expect(found).toEqual([]);
});
