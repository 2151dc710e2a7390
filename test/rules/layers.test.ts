import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, test } from "vitest";
import tools from "../tools/package.json" with { type: "json" };

/** Imports go one way (docs/ARCHITECTURE.md): room → the rooms it may import. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  "engine/model": [],
  "engine/storage": ["engine/model"],
  azure: ["engine/model", "engine/storage"],
  // Usable alone: `api` also connects to an account.
  election: ["engine/model", "engine/storage", "azure"],
  "engine/calculation": ["engine/model"],
  calculations: ["engine/model", "engine/calculation"],
  "engine/leader": ["engine/model", "engine/storage", "election"],
  "engine/worker": ["engine/model", "engine/storage", "engine/calculation"],
  "engine/client": ["engine/model", "engine/storage", "engine/calculation", "election"],
  "app/api": ["engine/model", "engine/calculation", "engine/client"],
  "app/functions": ["engine", "election", "azure", "calculations", "app"],
  // Entry points and what they compose.
  app: [
    ...["engine/model", "engine/storage", "engine/calculation", "engine/worker"],
    ...["calculations", "app/functions"],
  ],
  // What the simulation, the tests and instances on this machine run on.
  host: ["engine/model", "engine/storage"],
  // Optional, so nothing above imports them.
  "packages/sql": ["engine/model", "engine/calculation", "engine/worker", "calculations", "app"],
  "packages/cli/local": ["engine/model", "engine/storage", "azure", "host"],
  // It runs the engine itself for `check`: what one process of the app composes, on the in-memory storage.
  "packages/cli": [
    ...["engine", "election", "azure", "calculations", "app", "app/api", "host"],
    ...["packages/client", "packages/cli/local", "packages/sql"],
  ],
  // It runs in a browser: values of `model` only, which a test below checks, and types of the answers that it reads.
  "packages/dashboard": ["engine/model", "engine/client", "packages/client"],
  "packages/client": [],
};

/** Packages that only some rooms may import. */
const confined: readonly { readonly packages: RegExp; readonly rooms: readonly string[] }[] = [
  { packages: /^@azure\/(storage|identity|core)/, rooms: ["azure"] },
  { packages: /^@azure\/functions/, rooms: ["app/functions", "host", "packages/cli/local"] },
  { packages: /^piscina$/, rooms: ["engine/worker"] },
  { packages: /^commander$/, rooms: ["packages/cli"] },
  { packages: /^@duckdb\//, rooms: ["packages/sql"] },
  { packages: /^preact/, rooms: ["packages/dashboard"] },
  // A clone has these for its tests only.
  { packages: new RegExp(`^(${Object.keys(tools.dependencies).join("|")})(/|$)`), rooms: [] },
];

const root = resolve(import.meta.dirname, "../..");

interface SourceFile {
  /** Below `src`, or from the root of the repository. */
  readonly name: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = ["src", "packages"]
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  )
  .filter((name) => /\.tsx?$/.test(name) && !/^packages\/[^/]+\/test\//.test(fileName(name)))
  .map((path) => {
    const text = readFileSync(join(root, path), "utf8");
    const name = fileName(path);
    const imports = [...text.matchAll(/\bfrom "([^"]+)"|\bimport\("([^"]+)"\)|\bimport "([^"]+)"/g)];
    return {
      name,
      room: roomOf(name),
      text,
      imports: imports.map(([, a, b, c]) => a ?? b ?? (c as string)),
    };
  });

/** Of `engine`, `app` and `packages` each folder is a room, and what runs on this machine is one of its own. */
function roomOf(name: string): string {
  if (name.startsWith("packages/cli/local/")) return "packages/cli/local";
  const [first, second, ...rest] = name.split("/") as [string, ...string[]];
  return ["engine", "app", "packages"].includes(first) && rest.length > 0 ? `${first}/${second}` : first;
}

function fileName(path: string): string {
  return path
    .split(sep)
    .join("/")
    .replace(/^src\//, "");
}

/** The files that this one imports, of types too. */
const importedFiles = ({ name, imports }: SourceFile): readonly string[] =>
  imports
    .filter((one) => one.startsWith("."))
    .map((specifier) => fileName(relative(root, resolve(dirname(pathOf(name)), specifier))));

const pathOf = (name: string): string => join(root, name.startsWith("packages/") ? "" : "src", name);

/** Groups of names that reach each other, by Tarjan's algorithm; each group and the groups are sorted. */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const order = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];
  const visit = (name: string): number => {
    const index = order.size;
    order.set(name, index);
    open.push(name);
    let low = index;
    for (const next of graph.get(name) ?? []) {
      if (!graph.has(next)) continue;
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (open.includes(next)) low = Math.min(low, order.get(next) as number);
    }
    if (low === index) {
      const group = open.splice(open.indexOf(name));
      if (group.length > 1 || graph.get(name)?.includes(name)) cycles.push(group.sort());
    }
    return low;
  };
  for (const name of graph.keys()) if (!order.has(name)) visit(name);
  return cycles.sort((a, b) => (a[0] as string).localeCompare(b[0] as string));
}

test("imports between rooms go one way", () => {
  const broken: string[] = [];
  for (const file of files) {
    const { name, room } = file;
    for (const imported of importedFiles(file)) {
      // Such as the package's own description.
      if (!imported.includes("/")) continue;
      const target = roomOf(imported);
      const may = allowed[room] ?? [];
      if (target !== room && !may.some((one) => one === target || target.startsWith(`${one}/`)))
        broken.push(`${name} imports ${target}; ${room} may import ${may.join(", ") || "nothing of ours"}`);
    }
  }
  expect(broken).toEqual([]);
});

test("a leader polls, decides and performs, and none of these imports the one after it", () => {
  const steps = ["poll", "decide", "perform"].map((step) => `engine/leader/${step}/`);
  const stepOf = (name: string): number => steps.findIndex((step) => name.startsWith(step));
  const broken = files.flatMap((file) => {
    const from = stepOf(fileName(file.name));
    const back = importedFiles(file).filter((to) => from >= 0 && stepOf(to) > from);
    // What is decided rests on values alone.
    const calls = from === 1 ? importedFiles(file).filter((to) => stepOf(to) === 0) : [];
    return [...back, ...calls].map((to) => `${file.name} imports ${to}`);
  });
  expect(broken).toEqual([]);
});

test("the table lists every room, and no room that is not there", () => {
  const rooms = new Set(files.map((file) => file.room));
  expect(Object.keys(allowed).sort()).toEqual([...rooms].sort());
  const named = [...Object.values(allowed).flat(), ...confined.flatMap((one) => one.rooms)];
  expect(named.filter((room) => room !== "engine" && !rooms.has(room))).toEqual([]);
});

test("no file imports itself over others, not even a type", () => {
  const cycles = cyclesIn(new Map(files.map((file) => [fileName(file.name), importedFiles(file)])));
  expect(cycles).toEqual([]);
});

test("a cycle is found whether it is short or long, and each of its files is named", () => {
  const chain = { a: ["b"], b: ["c", "x"], c: ["a"], x: [], alone: ["a"] };
  const graph = { ...chain, d: ["a", "d2"], d2: ["d"], self: ["self"] };
  expect(cyclesIn(new Map(Object.entries(graph)))).toEqual([["a", "b", "c"], ["d", "d2"], ["self"]]);
});

test("SDKs stay in their rooms", () => {
  const broken = files.flatMap(({ name, room, imports }) =>
    imports.flatMap((specifier) => {
      const rule = confined.find((one) => one.packages.test(specifier));
      return rule === undefined || rule.rooms.includes(room) ? [] : [`${name} imports ${specifier}`];
    }),
  );
  expect(broken).toEqual([]);
});

test("the dashboard takes only types from the client, whose code needs Node", () => {
  const values = files
    .filter(({ room }) => room === "packages/dashboard")
    .flatMap(({ name, text }) =>
      [...text.matchAll(/^import (?!type\b)[^;]*? from "(?:\.\.\/)+engine\/client\/[^"]*"/gm)].map(
        ([line]) => `${name}: ${line}`,
      ),
    );
  expect(values).toEqual([]);
});

test("policy takes time and randomness as arguments", () => {
  const impure = /\bDate\.now|new Date\(\)|\bMath\.random|\bsetTimeout|\bsetInterval|\bperformance\.now/;
  // The process of a command is no policy: it ends by real time.
  const deaf = files.filter(
    ({ room, name }) =>
      ["engine/model", "engine/leader", "engine/calculation", "calculations", "election"].includes(room) &&
      name !== "calculations/command/commandProcess.ts",
  );
  expect(deaf.filter(({ text }) => impure.test(text)).map(({ name }) => name)).toEqual([]);
});
