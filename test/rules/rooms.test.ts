import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

/** Each room opens with a page: what it is for, what it does not promise, its files in reading order. */

const root = resolve(import.meta.dirname, "../..");
const foldersOf = (folder: string): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(folder, name));
const rooms = [
  ...foldersOf("src"),
  ...foldersOf("src/engine"),
  "packages",
  ...foldersOf("packages"),
  "packages/cli/local",
];

const pageOf = (room: string): string => readFileSync(join(root, room, "README.md"), "utf8");

/** Names in the first column of its table, of files and of folders, which end in `/`. */
const namedIn = (page: string): string[] =>
  [...page.matchAll(/^\| ([^|]*) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`([\w./]+)`/g)].map(([, name = ""]) => name),
  );

test("each room opens with a page", () => {
  for (const room of rooms) expect(pageOf(room), room).toMatch(/^\*\*Not promised\*\*/m);
});

test("the page of a room names each of its files and folders, and nothing that is not there", () => {
  const differences = rooms.flatMap((room) => {
    const named = namedIn(pageOf(room));
    const there = readdirSync(join(root, room), { withFileTypes: true })
      .filter(({ name }) => name !== "README.md" && name !== "test")
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
    return [
      ...there.filter((name) => !named.includes(name)).map((name) => `${room} does not name ${name}`),
      ...named.filter((name) => !there.includes(name)).map((name) => `${room} has no ${name}`),
    ];
  });
  expect(differences).toEqual([]);
});
