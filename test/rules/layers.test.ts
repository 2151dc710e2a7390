import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, test } from "vitest";

/** Imports go one way (docs/ARCHITECTURE.md): room → the rooms it may import. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  model: [],
  storage: ["model"],
  election: ["model", "storage"],
  calculations: ["model"],
  coordinator: ["model", "storage", "election"],
  worker: ["model", "storage", "calculations"],
  client: ["model", "storage", "election", "calculations"],
  api: ["model", "storage", "election", "calculations", "client"],
  functions: ["model", "storage", "election", "calculations", "coordinator", "worker", "client", "api"],
  local: ["model", "storage"],
  // It runs the engine itself for `check`: what one process of the app composes, on the storage twin.
  cli: ["model", "storage", "client", "calculations", "local", "worker", "election", "coordinator", "api"],
  // It runs in a browser: values of `model` only, which a test below checks, and types of the answers that it reads.
  dashboard: ["model", "client"],
};

/** Packages that only some rooms may import. */
const confined: readonly { readonly packages: RegExp; readonly rooms: readonly string[] }[] = [
  { packages: /^@azure\/(storage|identity|core)/, rooms: ["storage"] },
  { packages: /^@azure\/functions/, rooms: ["functions", "local"] },
  { packages: /^piscina$/, rooms: ["worker"] },
  { packages: /^commander$/, rooms: ["cli"] },
  { packages: /^preact/, rooms: ["dashboard"] },
];

const src = resolve(import.meta.dirname, "../../src");

interface SourceFile {
  readonly name: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => {
    const text = readFileSync(join(src, name), "utf8");
    const imports = [...text.matchAll(/\bfrom "([^"]+)"|\bimport\("([^"]+)"\)|\bimport "([^"]+)"/g)];
    const room = name.includes(sep) ? (name.split(sep)[0] as string) : "";
    return { name, room, text, imports: imports.map(([, a, b, c]) => a ?? b ?? (c as string)) };
  });

const fileName = (name: string): string => name.split(sep).join("/");

/** The files of `src` that this one imports, of types too. */
const importedFiles = ({ name, imports }: SourceFile): readonly string[] =>
  imports
    .filter((one) => one.startsWith("."))
    .map((specifier) => fileName(relative(src, resolve(dirname(join(src, name)), specifier))));

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
  for (const { name, room, imports } of files) {
    if (room === "") continue;
    for (const specifier of imports.filter((one) => one.startsWith("."))) {
      const target = relative(src, resolve(dirname(join(src, name)), specifier)).split(sep)[0] ?? "";
      if (target === ".." || target === room) continue;
      if (!(allowed[room] ?? []).includes(target)) {
        broken.push(
          `${name} imports ${target}; ${room} may import ${allowed[room]?.join(", ") || "nothing of ours"}`,
        );
      }
    }
  }
  expect(broken).toEqual([]);
});

test("the table lists every room, and no room that is not there", () => {
  const rooms = new Set(files.map((file) => file.room).filter((room) => room !== ""));
  expect(Object.keys(allowed).sort()).toEqual([...rooms].sort());
  const named = [...Object.values(allowed).flat(), ...confined.flatMap((one) => one.rooms)];
  expect(named.filter((room) => !rooms.has(room))).toEqual([]);
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
      return rule === undefined || room === "" || rule.rooms.includes(room)
        ? []
        : [`${name} imports ${specifier}`];
    }),
  );
  expect(broken).toEqual([]);
});

test("the dashboard takes only types from the client, whose code needs Node", () => {
  const values = files
    .filter(({ room }) => room === "dashboard")
    .flatMap(({ name, text }) =>
      [...text.matchAll(/^import (?!type\b)[^;]*? from "(?:\.\.\/)+client\/[^"]*"/gm)].map(
        ([line]) => `${name}: ${line}`,
      ),
    );
  expect(values).toEqual([]);
});

test("policy takes time and randomness as arguments", () => {
  const impure = /\bDate\.now|new Date\(\)|\bMath\.random|\bsetTimeout|\bsetInterval|\bperformance\.now/;
  // A session of DuckDB is no policy: it ends statements by real time and memory.
  const deaf = files.filter(
    ({ room, name }) =>
      ["model", "coordinator", "calculations", "election"].includes(room) &&
      name !== "calculations/sql/duck/session.ts",
  );
  expect(deaf.filter(({ text }) => impure.test(text)).map(({ name }) => name)).toEqual([]);
});

test("no file is longer than 250 lines", () => {
  expect(files.filter(({ text }) => text.split("\n").length > 251).map(({ name }) => name)).toEqual([]);
});
