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

it.each([
  [
    "enum Color { Red }",
    "enum is not supported in strip-only mode (X.ts:2); types are stripped and not compiled",
  ],
  [
    "class A { @once x = 1; }",
    "token (X.ts:2); types are stripped and not compiled: JavaScript has no decorators",
  ],
  [`import { y } from "@/lib/y";`, "(X.ts:2); aliases of tsconfig.json are not read"],
  [`import y from "not-installed-here";`, "(X.ts:2); npm install it beside the file"],
  [`import { y } from "./nowhere";`, "(X.ts:2); an import names its file with the extension"],
])("A file with %s says where, and what to write instead", async (line, said) => {
  const file = join(folder, `bad${line.length}.ts`);
  await writeFile(file, `export const a = 1;\n${line}\n`);
  const told = said.replace("X", `bad${line.length}`);
  await expect(loadFiles([file], { signal })).rejects.toThrow(told);
});
