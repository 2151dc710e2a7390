import { execFile } from "node:child_process";
import { watch } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = join(import.meta.dirname, "..", "..");
let clone: string;
const source = `import { defineCalculation, z } from "leasefold";
  export default defineCalculation({ name: "mine", summary: "a test", params: z.strictObject({}), plan: () => 1,
    compute: () => 1, merge: (a, b) => a + b, zero: () => 0 });`;

beforeAll(async () => {
  clone = await mkdtemp(join(tmpdir(), "leasefold-build-"));
  const configs = (await readdir(root)).filter((name) => /^(tsconfig.*|package|host)\.json$/.test(name));
  for (const name of ["src", "packages", "scripts", "python", "docs/openapi.json", ...configs])
    await cp(join(root, name), join(clone, name), { recursive: true });
  await symlink(join(root, "node_modules"), join(clone, "node_modules"), "junction");
  await mkdir(join(clone, "calculations"));
  await writeFile(join(clone, "calculations/mine.ts"), source);
});
afterAll(() => rm(clone, { recursive: true, force: true }));

const build = () => promisify(execFile)(process.execPath, [join(clone, "scripts/build.mjs")], { cwd: clone });

/** Each file of the build with what tells whether it was written again. */
async function built(): Promise<Record<string, string>> {
  const entries = await readdir(join(clone, "dist"), { recursive: true, withFileTypes: true });
  const files = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  const told = files.sort().map(async (file) => [file, `${(await stat(file)).ino}`] as const);
  return Object.fromEntries(await Promise.all(told));
}

/** azd builds for each region, and from 1.25 on at once and in one folder. */
test("two builds started together both succeed, and do so again without touching what is built", async () => {
  for (const { stdout } of await Promise.all([build(), build()])) expect(stdout).toContain("built dist/");
  const first = await built();
  const names = Object.keys(first).map((file) => file.slice(join(clone, "dist/").length));
  const parts = ["index.cjs", "index.cjs.map", "ui/app.js", "types/src/calculations/leasefold.d.ts"];
  expect(names).toEqual(expect.arrayContaining([...parts, "LICENSES.txt", "calculations/mine.mjs"]));
  await Promise.all([build(), build()]);
  expect(await built()).toEqual(first);
  expect((await readdir(clone)).filter((name) => name.startsWith(".build-"))).toEqual([]);
});

test("who watches the folder of the app sees code change in dist alone, so that a host that runs restarts its worker once", async () => {
  const seen = new Set<string>();
  const watcher = watch(clone, { recursive: true }, (_event, name) => void seen.add(String(name)));
  await writeFile(join(clone, "calculations/mine.ts"), `${source}\n// Other.\nconsole.assert(true);`);
  await build();
  await expect.poll(() => [...seen]).toContain(join("dist", "calculations", "mine.mjs"));
  watcher.close();
  expect([...seen].filter((name) => /\.[cm]?js$/.test(name) && !/^dist\b/.test(name))).toEqual([]);
});

test("the app says which Node it needs before anything else of it runs", async () => {
  const entry = await readFile(join(clone, "dist/index.cjs"), "utf8");
  const first = entry.slice(0, entry.indexOf("\n}\n") + 2);
  const errors: string[] = [];
  const under = (node: string) =>
    runInNewContext(first, {
      process: { versions: { node }, version: `v${node}`, execPath: "/usr/bin/node" },
      console: { error: (line: string) => errors.push(line) },
    });
  const says = "Leasefold needs Node 22 from 22.18 on, or Node 24 or later, and this is";
  const old = ["18.20.0", "20.20.2", "22.17.9", "23.11.1"];
  for (const version of old) expect(() => under(version)).toThrow(`${says} v${version} (/usr/bin/node)`);
  expect(errors.length).toBe(old.length);
  for (const version of ["22.18.0", "22.21.3", "24.0.0", "26.1.0", "30.0.0"]) under(version);
});

test("a build that fails says why, and leaves what was built", async () => {
  const before = await built();
  await writeFile(join(clone, "calculations/worse.js"), "export default { name: 'worse' };");
  await expect(build()).rejects.toMatchObject({ stderr: expect.stringContaining("exports no calculation") });
  expect(await built()).toEqual(before);
  expect((await readdir(clone)).filter((name) => name.startsWith(".build-"))).toEqual([]);
});
