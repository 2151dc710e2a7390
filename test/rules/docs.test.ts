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
const mutants = filesIn("test/sim/engine/mutants", /\.ts$/).map(read).join("\n");

interface Rule {
  readonly name: string;
  readonly page: string;
  readonly keptBy: string;
  readonly watchedBy: readonly string[];
}

/** Sections of the rooms' pages that say who keeps and who watches them. */
const rules: readonly Rule[] = filesIn("src/engine", /README\.md$/).flatMap((page) =>
  read(page)
    .split(/^### /m)
    .flatMap((section) => {
      const [, keptBy, watchedBy = ""] = /^Kept by: (.*)\.\nWatched by: (.*)\.$/m.exec(section) ?? [];
      if (keptBy === undefined) return [];
      const name = (section.split("\n")[0] as string).toLowerCase();
      return [{ name, page, keptBy, watchedBy: watchedBy.split(/[;,] (?=`test|[a-z])/) }];
    }),
);

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

test("ARCHITECTURE lists every rule with the page that has it, and there are at most 26", () => {
  const listed = [...architecture.matchAll(/^\| \[([a-z -]+)\]\(\.\.\/(.*README\.md)#([a-z-]+)\) \|/gm)];
  const links = listed.filter(([, name = "", , anchor]) => anchor !== anchorOf(name)).map(([link]) => link);
  expect(links).toEqual([]);
  const told = listed.map(([, name, page]) => `${name}: ${page}`);
  expect(told.sort()).toEqual(rules.map(({ name, page }) => `${name}: ${page}`).sort());
  expect(rules.length).toBeLessThanOrEqual(26);
});

test("what keeps a rule is declared where its page says, and what watches it is a checker or a test", () => {
  const text = sources.map(read).join("\n");
  const isDeclared = (name: string): boolean =>
    declares(text, name) || new RegExp(`\\b(?:async )?${name}\\(`).test(text);
  const placed = rules.flatMap(({ name: rule, keptBy }) =>
    [...keptBy.matchAll(/`([^`]+)` in `([^`]+)`/g)]
      .filter(([, name, where]) => !declares(inEngine(where as string), name as string))
      .map(([place]) => `${rule}: ${place}`),
  );
  expect(placed).toEqual([]);
  const checkers = read("test/sim/engine/checks/judge.ts");
  const unknown = rules.flatMap(({ name: rule, keptBy, watchedBy }) => [
    ...[...keptBy.matchAll(/`([^`]+)`/g)]
      .map(([, name]) => name as string)
      .filter((name) =>
        name.includes("/") ? !existsSync(join(root, "src/engine", name)) : !name.split(".").every(isDeclared),
      )
      .map((name) => `${rule} is kept by ${name}`),
    ...watchedBy
      .filter((one) => {
        const file = /`(test\/[^`]+)`/.exec(one)?.[1];
        return file === undefined ? !checkers.includes(`"${one}"`) : !existsSync(join(root, file));
      })
      .map((one) => `${rule} is watched by ${one}`),
  ]);
  expect(unknown).toEqual([]);
});

test("every rule has a mutant, but for those of which ARCHITECTURE says that they have none", () => {
  const mutated = new Set([...mutants.matchAll(/^ +rule: "([^"]+)",/gm)].map(([, rule]) => rule as string));
  const without =
    /^Rules without a mutant in [^:]*: ([a-z, ]+)\./m.exec(architecture)?.[1]?.split(", ") ?? [];
  expect([...mutated, ...without].sort()).toEqual(rules.map(({ name }) => name).sort());
});

/** The scenario that plays the deletion of each row of "What you may delete by hand" in OPERATIONS; none where nothing of a run follows. */
const deletionsPlayed: Readonly<Record<string, string | undefined>> = {
  "`leader` in `{ns}-coordination`": "the lease record is deleted while a run computes",
  "`workers/…` there": "the heartbeats of all workers are deleted again and again",
  "a message, or the queue `packs` or `urgent`":
    "plan, state and queues are lost and partials remain, and the new plan of other packs folds none of them",
  "the queue `wake`, poison queues, `_dropped/…`, `_expiry`": undefined,
  "the marker in `{ns}-active`":
    "the marker of a second generation is deleted by hand, and a repeated submit goes on with it",
  "`RUN/spec.json` of an active run":
    "a spec that was deleted by hand in a retry ends it in words, and a retry goes on once the spec is back",
  "the same of an ended run": "a complete run whose spec was deleted by hand can be deleted",
  "`state.json` of an active run": "the state is deleted while the run finishes: the result stands",
  "`plan.json`, `plan/…`": "each thing of a run is deleted in turn while it computes",
  "a partial in `parts/`": "a partial is deleted before its shard is folded, and a retry computes it",
  "a node in `nodes/`": "a node that was deleted by hand fails its run once, and the retry combines it again",
  "`printed/…`, `failed/…` of an ended run; `hashes/…` in `{ns}-results`": undefined,
  "the summary in `_closed/`": undefined,
  "the result in `{ns}-results`": undefined,
  "a file in `{id}/{uid}/files/` there":
    "a file that is another than its name says fails the run that would join it",
  "a file in `{ns}-inputs`": undefined,
};

test("what follows a deletion by hand, as OPERATIONS says, is played by a scenario", () => {
  const deleted = rowsOf(/^\| deleted \|/, read("docs/OPERATIONS.md")).map(([what]) => what);
  expect(deleted).toEqual(Object.keys(deletionsPlayed));
  const scenarios = filesIn("test/sim/engine/scenarios", /\.ts$/).map(read).join("\n");
  const played = Object.values(deletionsPlayed).filter((title) => title !== undefined);
  expect(played.filter((title) => !scenarios.includes(`"${title}"`))).toEqual([]);
});

test("every rule that code or a page cites exists", () => {
  const names = new Set(rules.map(({ name }) => name));
  const cites = [...code, ...pages].flatMap((file) =>
    [...read(file).matchAll(/\brules? (\*[a-z -]+\*(?:(?:, | and )\*[a-z -]+\*)*)/g)].flatMap(
      ([, all = ""]) => [...all.matchAll(/\*([a-z -]+)\*/g)].map(([, rule = ""]) => ({ file, rule })),
    ),
  );
  expect(cites.length).toBeGreaterThan(30);
  expect(cites.filter(({ rule }) => !names.has(rule))).toEqual([]);
  const numbered = [...code, ...pages].filter(
    (file) => /\brules? \d/.test(read(file)) && file !== "CHANGELOG.md",
  );
  expect(numbered).toEqual([]);
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
