import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { folderFiles } from "../../src/calculations/folderFiles.ts";
import type { FileFact } from "../../src/engine/calculation/files.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-folder-"));
  await mkdir(join(folder, "in/deeper"), { recursive: true });
  await writeFile(join(folder, "in/b.txt"), "bee");
  await writeFile(join(folder, "in/deeper/a.txt"), "a");
  await writeFile(join(folder, "in/b.txt.old"), "");
  await symlink(join(folder, "in/b.txt"), join(folder, "in/link"));
});
afterAll(() => rm(folder, { recursive: true }));

async function listed(source: string): Promise<FileFact[]> {
  return await Array.fromAsync(folderFiles(folder).list(source));
}

describe("the files of a folder", () => {
  it("are listed by name below the source, without links, and one file alone by its own path", async () => {
    const all = ["in/b.txt", "in/b.txt.old", "in/deeper/a.txt"].map((name) => `leasefold-inputs/${name}`);
    expect((await listed("leasefold-inputs/")).map(({ path }) => path)).toEqual(all);
    expect((await listed("leasefold-inputs/in/d")).map(({ path }) => path)).toEqual(all.slice(2));
    expect(await listed("leasefold-inputs/in/b.txt")).toMatchObject([{ path: all[0], bytes: 3 }]);
    expect(await listed("other/")).toEqual([]);
    const odd = await Array.fromAsync(folderFiles(`${folder}/in/../`).list("leasefold-inputs/"));
    expect(odd.map(({ path }) => path)).toEqual(all);
  });

  it("are read whole or in part, and have another ETag once they have changed", async () => {
    const [file] = await listed("leasefold-inputs/in/b.txt");
    if (file === undefined) throw new Error("not listed");
    const read = async (range?: { from?: number; to?: number }) =>
      Buffer.concat(await Array.fromAsync(folderFiles(folder).read(file, range))).toString();
    expect([await read(), await read({ from: 1 }), await read({ to: 1 })]).toEqual(["bee", "ee", "b"]);
    await writeFile(join(folder, "in/b.txt"), "wasp");
    expect((await listed("leasefold-inputs/in/b.txt"))[0]?.etag).not.toBe(file.etag);
  });
});
