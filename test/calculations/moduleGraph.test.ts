import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";

/** In a process of its own each time: one process loads a file once, and the test runner loads files in its own way. */
const registry = pathToFileURL(join(import.meta.dirname, "../../src/calculations/registry.ts")).href;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-test-"));
});
afterEach(() => vi.unstubAllEnvs());
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

async function identityOf(file: string, then = "", before = ""): Promise<string> {
  const code = `const { loadCalculations } = await import(${JSON.stringify(registry)}); ${before}
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

  it("what a calculation imports only while it computes does not change its identity", async () => {
    const file = await write(join(folder, "f"));
    await writeFile(join(folder, "f", "late.mjs"), "export default 1;\n");
    const [before] = (await identityOf(file)).split(" ");
    const text = (await readFile(file, "utf8")).replace("() => unit", '() => import("./late.mjs")');
    await writeFile(file, text);
    const [first] = (await identityOf(file)).split(" ");
    expect(first).not.toBe(before);
    expect(await identityOf(file, 'await known.get("mine").compute();')).toBe(`${first} false`);
  });
});

/** A package for Node as npm installs it. */
async function install(at: string, about: Record<string, unknown>, files: Record<string, string> = {}) {
  const to = join(at, "node_modules", String(about["name"]));
  await mkdir(to, { recursive: true });
  await writeFile(join(to, "package.json"), JSON.stringify({ version: "1.0.0", ...about }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(to, name), text);
  return to;
}

/** A calculation that imports this in its first line. */
async function writeWith(at: string, line: string, name = "mine"): Promise<string> {
  await mkdir(at, { recursive: true });
  const file = join(at, `${name}.mjs`);
  await writeFile(
    file,
    `${line}\nimport { defineCalculation, z } from "leasefold";
    export default defineCalculation({ name: "${name}", summary: "", params: z.object({}),
      plan: () => 1, compute: () => used(), merge: (a) => a, zero: () => 0 });`,
  );
  return file;
}

describe("the identity of a file that imports packages", () => {
  const native = {
    "index.js": `const parts = require("parts");
      const file = require("node:path").join(__dirname, process.env.PLATFORM + ".js");
      const loaded = require(file); exports.used = () => [parts, loaded, require("./late.js")].length;`,
    ...{ "linux.js": "module.exports = 1;", "darwin.js": "module.exports = 2;", "late.js": "" },
  };
  async function nightly(at: string, parts = "2.0.0", version = "1.0.0"): Promise<string> {
    await install(at, { name: "native", version, dependencies: { parts: "*" } }, native);
    await install(at, { name: "parts", version: parts }, { "index.js": "" });
    return await writeWith(at, 'import { used } from "native";');
  }

  it("it is the same on every system, in every folder and wherever npm places packages", async () => {
    const file = await nightly(join(folder, "g"));
    vi.stubEnv("PLATFORM", "linux");
    const first = await identityOf(file);
    vi.stubEnv("PLATFORM", "darwin");
    expect(await identityOf(file, 'await known.get("mine").compute();')).toBe(first);
    await cp(join(folder, "g"), join(folder, "h"), { recursive: true });
    const modules = join(folder, "h", "node_modules");
    await mkdir(join(modules, "native", "node_modules"));
    await rename(join(modules, "parts"), join(modules, "native", "node_modules", "parts"));
    expect(await identityOf(join(folder, "h", "mine.mjs"))).toBe(first);
  });

  it("it changes with the version of a package, and with that of one which that package needs", async () => {
    vi.stubEnv("PLATFORM", "linux");
    const at = join(folder, "i");
    const all = new Set<string>();
    for (const [parts, version] of [["2.0.0"], ["2.0.1"], ["2.0.0", "1.0.1"]] as const)
      all.add(await identityOf(await nightly(at, parts, version)));
    expect(all.size).toBe(3);
  });

  it("it is reported as changed once another version is installed", async () => {
    vi.stubEnv("PLATFORM", "linux");
    const at = join(folder, "j");
    const file = await nightly(at);
    const about = JSON.stringify(JSON.stringify({ name: "parts", version: "2.0.1" }));
    const path = JSON.stringify(join(at, "node_modules", "parts", "package.json"));
    const change = `(await import("node:fs")).writeFileSync(${path}, ${about});`;
    expect(await identityOf(file, change)).toMatch(/ true$/);
  });

  it("it is the same whether another calculation that uses the same package was loaded before or not", async () => {
    const at = join(folder, "k");
    const part = (name: string) => `exports.used = () => require("./base"); require("./base"); // ${name}`;
    await install(at, { name: "many" }, { "a.js": part("a"), "b.js": part("b"), "base.js": "" });
    const file = await writeWith(at, 'import { used } from "many/a.js";');
    const other = await writeWith(at, 'import { used } from "many/b.js";', "other");
    const before = `await loadCalculations([${JSON.stringify(other)}]);`;
    expect(await identityOf(file, "", before)).toBe(await identityOf(file));
  });

  it("a private package beside the app is its own code: TypeScript, whose files count, linked or copied", async () => {
    const at = join(folder, "l");
    const files = {
      "index.ts": 'import { rate } from "./rate.ts"; export const used = (): number => rate;',
      "rate.ts": "export const rate: number = 1;",
    };
    const about = { name: "@acme/pricing", private: true, type: "module", main: "index.ts" };
    const copied = await writeWith(join(at, "copied"), 'import { used } from "@acme/pricing";');
    const to = await install(join(at, "copied"), about, files);
    const first = await identityOf(copied, 'if (known.get("mine").compute() !== 1) throw new Error("no");');
    const linked = await writeWith(join(at, "linked"), 'import { used } from "@acme/pricing";');
    await cp(to, join(at, "pricing"), { recursive: true });
    await mkdir(join(at, "linked", "node_modules", "@acme"), { recursive: true });
    await symlink(join(at, "pricing"), join(at, "linked", "node_modules", "@acme", "pricing"), "junction");
    expect(await identityOf(linked)).toBe(first);
    await writeFile(join(to, "rate.ts"), "export const rate: number = 2;");
    expect(await identityOf(copied)).not.toBe(first);
  });
});
