import { expect, it, test } from "vitest";
import { isEmulatorsOwn } from "../../src/tools/local/dataFolder.ts";
import { isWrittenByOthers } from "../../src/tools/local/privateFile.ts";

const own = [
  "__azurite_db_blob__.json",
  "__azurite_db_blob__.json~",
  "__blobstorage__",
  "__queuestorage__",
  "leasefold.lock",
  "leasefold-account.json",
];

test.each(own)("%s is an emulator's, in whatever way a system that ignores case writes it", (name) => {
  const initial = name.replace(/[a-z]/, (letter) => letter.toUpperCase());
  for (const one of [name, initial, name.toUpperCase()]) expect(isEmulatorsOwn(one), one).toBe(true);
});

it("knows names that macOS takes for one of the emulator's although their characters differ", () => {
  // A long s, a Kelvin sign, a ligature, a zero-width joiner.
  for (const name of [
    "lea\u017fefold.lock",
    "leasefold.loc\u212a",
    "__blob\ufb06orage__",
    "lease\u200dfold.lock",
  ])
    expect(isEmulatorsOwn(name), JSON.stringify(name)).toBe(true);
});

it("leaves other files alone", () => {
  for (const name of ["notes.txt", ".gitignore", "my__azurite_db_blob__.json", "leasefolder"])
    expect(isEmulatorsOwn(name), name).toBe(false);
});

it("takes a folder for one that others write where they own it or its mode says so", () => {
  const folder = 0o040000;
  const cases = [0o700, 0o755, 0o775, 0o702].map((mode) =>
    isWrittenByOthers({ uid: 7, mode: folder | mode }, 7),
  );
  expect(cases).toEqual([false, false, true, true]);
  expect(isWrittenByOthers({ uid: 8, mode: folder | 0o700 }, 7)).toBe(true);
});
