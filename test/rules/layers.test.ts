import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { expect, test } from "vitest";

/** Imports go one way (DESIGN, section 9): room → the rooms it may import. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  model: [],
  storage: ["model"],
  election: ["model", "storage"],
  calculations: ["model"],
  coordinator: ["model", "storage", "election"],
  worker: ["model", "storage", "calculations"],
  client: ["model", "storage", "election", "calculations"],
  functions: ["model", "storage", "election", "calculations", "coordinator", "worker", "client", "dashboard"],
  local: ["model", "storage"],
  // It runs the engine itself for `check`: what one process of the app composes, on the storage twin.
  cli: ["model", "storage", "client", "calculations", "local", "worker", "election", "coordinator"],
};

/** Packages that only some rooms may import. */
const confined: readonly { readonly packages: RegExp; readonly rooms: readonly string[] }[] = [
  { packages: /^@azure\/(storage|identity|core)/, rooms: ["storage"] },
  { packages: /^@azure\/functions/, rooms: ["functions", "local"] },
  { packages: /^piscina$/, rooms: ["worker"] },
  { packages: /^commander$/, rooms: ["cli"] },
];

const src = resolve(import.meta.dirname, "../../src");

interface SourceFile {
  readonly name: string;
  readonly room: string;
  readonly text: string;
  readonly imports: readonly string[];
}

const files: readonly SourceFile[] = readdirSync(src, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts"))
  .map((name) => {
    const text = readFileSync(join(src, name), "utf8");
    const imports = [...text.matchAll(/\bfrom "([^"]+)"|\bimport\("([^"]+)"\)|\bimport "([^"]+)"/g)];
    const room = name.includes(sep) ? (name.split(sep)[0] as string) : "";
    return { name, room, text, imports: imports.map(([, a, b, c]) => a ?? b ?? (c as string)) };
  });

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

test("every room is in the table", () => {
  expect(
    [...new Set(files.map((file) => file.room))].filter((room) => room !== "" && !(room in allowed)),
  ).toEqual([]);
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

test("policy takes time and randomness as arguments", () => {
  const impure = /\bDate\.now|new Date\(\)|\bMath\.random|\bsetTimeout|\bsetInterval|\bperformance\.now/;
  const deaf = files.filter(({ room }) =>
    ["model", "coordinator", "calculations", "election"].includes(room),
  );
  expect(deaf.filter(({ text }) => impure.test(text)).map(({ name }) => name)).toEqual([]);
});

test("no file is longer than 250 lines", () => {
  expect(files.filter(({ text }) => text.split("\n").length > 251).map(({ name }) => name)).toEqual([]);
});
