import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** In a process of its own each time: one process loads a file once, and the test runner loads files in its own way. */
const registry = pathToFileURL(join(import.meta.dirname, "../../src/calculations/registry.ts")).href;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function write(at: string, more = ""): Promise<string> {
  await mkdir(join(at, "lib"), { recursive: true });
  await writeFile(join(at, "lib", "deep.mjs"), "export const deep = 1;\n");
  await writeFile(join(at, "lib", "unit.mjs"), 'export { deep as unit } from "./deep.mjs";\n');
  await writeFile(
    join(at, "mine.mjs"),
    `import { unit } from "./lib/unit.mjs"; import { defineCalculation, z } from "leasefold";
    export default defineCalculation({ name: "mine", summary: "", params: z.object({}), ${more}
      plan: () => 1, compute: () => unit, merge: (a) => a, zero: () => 0 });`,
  );
  return join(at, "mine.mjs");
}

async function identityOf(file: string, then = ""): Promise<string> {
  const code = `const { loadCalculations } = await import(${JSON.stringify(registry)});
    const known = await loadCalculations([${JSON.stringify(file)}]); ${then}
    console.log(known.versionOf("mine"), known.changedSince("mine"));`;
  const args = ["--experimental-strip-types", "--input-type=module", "--eval", code];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.trim();
}

describe("the identity of a user's file", () => {
  it("the identity is the same in any folder, and changes if a file that it imports changes", async () => {
    const file = await write(join(folder, "a"));
    const first = await identityOf(file);
    expect(first).toMatch(/^mine@sha256:[0-9a-f]{12} false$/);
    await cp(join(folder, "a"), join(folder, "b"), { recursive: true });
    expect(await identityOf(join(folder, "b", "mine.mjs"))).toBe(first);
    await writeFile(join(folder, "b", "lib", "deep.mjs"), "export const deep = 2;\n");
    expect(await identityOf(join(folder, "b", "mine.mjs"))).not.toBe(first);
  });

  it("the identity stays that of the loaded code if a file changes later, and the change is reported", async () => {
    const file = await write(join(folder, "c"));
    const [first] = (await identityOf(file)).split(" ");
    const change = `(await import("node:fs")).writeFileSync(${JSON.stringify(join(folder, "c", "lib", "deep.mjs"))}, "export const deep = 3;");`;
    expect(await identityOf(file, change)).toBe(`${first} true`);
  });

  it("a declared version is the identity, whatever changes in the file", async () => {
    const file = await write(join(folder, "d"), 'version: "2.1",');
    expect(await identityOf(file)).toBe("mine@2.1 false");
    const wrong = await write(join(folder, "e"), 'version: "two, or so",');
    await expect(identityOf(wrong)).rejects.toThrow(/the version "two, or so" is not 1 to 40/);
  });
});
