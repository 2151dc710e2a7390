import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fileThere, writesFile } from "../../../test/support/fileThere.ts";
import { loadFiles } from "../loadFiles.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-load-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const { signal } = new AbortController();
async function fileOf(name: string, top: string): Promise<string> {
  const file = join(folder, `${name}.mjs`);
  const parts = `name: "${name}", summary: "", params: {}, plan() {}, compute() {}, merge() {}, zero() {}`;
  await writeFile(file, `${top}; export default { ${parts} };`);
  return file;
}

it.each([
  ["for (;;);", "loops"],
  ["setInterval(() => {}, 9); await new Promise(() => {});", "awaits"],
])("A file that never ends loading is refused after the limit: %s", async (top, name) => {
  const bad = await fileOf(name, top);
  await expect(loadFiles([bad], { signal, limitMs: 300 })).rejects.toMatchObject({
    code: "bad-calculation-file",
    message: `${bad}: loading the file has not ended after 0.3 s`,
  });
});

it("A file that ends its process is refused, and not the one before it", async () => {
  const files = [await fileOf("fine", ""), await fileOf("exits", "process.exit(3)")];
  const message = `${files[1]}: loading the file ended its thread, as process.exit does. It finds no variable but those that --env or LEASEFOLD_ENV names`;
  await expect(loadFiles(files, { signal })).rejects.toMatchObject({ code: "bad-calculation-file", message });
});

it("The reason of a file that does not load is that of this process", async () => {
  const bad = await fileOf("throws", `throw new Error("not today")`);
  await expect(loadFiles([bad], { signal })).rejects.toThrow(`${bad} does not load: not today`);
});

it("Ctrl-C ends a file that never ends loading, at once", async () => {
  const interrupt = new AbortController();
  const began = join(folder, "began");
  const bad = await fileOf("endless", `${writesFile(began)} for (;;);`);
  const loading = loadFiles([bad], { signal: interrupt.signal, limitMs: 3_600_000 });
  await fileThere(began);
  interrupt.abort();
  await expect(loading).rejects.toMatchObject({ name: "AbortError" });
});
