import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hasPython } from "../support/python.ts";

/** The package as `npm pack` makes it, installed in an empty folder, with nothing of this project above it. */
const root = resolve(import.meta.dirname, "../..");
let folder: string;
let installed: string;

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Without what vitest and this machine's settings would add. */
const { NODE_OPTIONS: _options, NODE_PATH: _path, DataStorage: _storage, ...env } = process.env;

const run = (file: string, args: readonly string[], cwd = folder): Promise<Ended> =>
  promisify(execFile)(file, args, { cwd, env }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    ({ code, stdout = "", stderr = "" }) => ({ code, out: stdout, err: stderr }),
  );
/** Another Node that `engines` allows, to try by hand: LEASEFOLD_TEST_NODE. */
const node = (...args: string[]) => run(env["LEASEFOLD_TEST_NODE"] ?? process.execPath, args);
const leasefold = (...args: string[]) => node(join(folder, "node_modules/.bin/leasefold"), ...args);
const tsc = (...files: string[]) =>
  node(
    join(root, "node_modules/typescript/bin/tsc"),
    ...["--noEmit", "--strict", "--target", "es2024", "--module", "nodenext", "--types", "node"],
    ...files,
  );

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-installed-"));
  const packed = await run("npm", ["pack", "--ignore-scripts", "--json", "--pack-destination", folder], root);
  expect(packed, packed.err).toMatchObject({ code: 0 });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  // Without a network: what the package depends on is given as a folder.
  const { dependencies } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const given = Object.keys(dependencies).map((name) => join(root, "node_modules", name));
  const flags = ["--offline", "--no-audit", "--no-fund", "--install-links"];
  const added = await run("npm", ["install", ...flags, join(folder, tarball), ...given]);
  expect(added, added.err).toMatchObject({ code: 0 });
  await rm(join(folder, tarball));
  installed = join(folder, "node_modules/leasefold");
});
afterAll(async () => {
  await leasefold("down");
  await rm(folder, { recursive: true, force: true });
});

const filesIn = async (at: string): Promise<string[]> =>
  (await readdir(at, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map((one) =>
      join(one.parentPath, one.name)
        .slice(at.length + 1)
        .replaceAll("\\", "/"),
    );

test("the package holds what runs, its types and its pages, and less than 10 MB", async () => {
  const files = await filesIn(installed);
  const allowed =
    /^(bin\/leasefold\.js|host\.json|local\.settings\.sample\.json|package\.json|infra\/[\w/-]+\.(bicep|bicepparam|kql)|(README|CHANGELOG|SECURITY)\.md|LICENSE|docs\/.*\.(md|png|svg|json)|examples\/.*\.(md|mjs|ts|py)|python\/leasefold\.py|dist\/(ui\/(index\.html|app\.(js|css)|openapi\.json)|python\/leasefold\.py|\w[\w-]*\.(cjs|mjs|wasm)|LICENSES\.txt|starter\/(calculation(\.test)?\.ts|(app|python)\/[\w.]+)|types\/.*\.d\.ts))$/;
  expect(files.filter((file) => !allowed.test(file))).toEqual([]);
  expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "host.json", "dist/exact.wasm"]));
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(installed, file))).size));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(10e6);
});

test("the package's pages lead to examples and helpers that are in it", async () => {
  const pages = (await filesIn(installed)).filter((file) => file.endsWith(".md"));
  const links = await Promise.all(
    pages.map(async (page) => {
      const text = await readFile(join(installed, page), "utf8");
      return [...text.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, to]) => join(dirname(page), String(to)));
    }),
  );
  const own = links.flat().filter((to) => /^(examples|python|docs)\b/.test(to));
  expect(own.filter((to) => to.startsWith("examples")).length).toBeGreaterThan(5);
  expect(own.filter((to) => !existsSync(join(installed, to)))).toEqual([]);
});

test("dist/LICENSES.txt names every package that a source map finds in a bundle, each with a license", async () => {
  const text = await readFile(join(installed, "dist/LICENSES.txt"), "utf8");
  const maps = (await readdir(join(root, "dist"))).filter((name) => name.endsWith(".map"));
  const sources = await Promise.all(
    maps.map(
      async (name) => JSON.parse(await readFile(join(root, "dist", name), "utf8")).sources as string[],
    ),
  );
  const bundled = new Set(
    sources.flat().flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []),
  );
  expect(bundled.size).toBeGreaterThan(20);
  const heads = new Set([...text.matchAll(/^(\S+) \d+\.\d+\.\S+ \(.+\)$/gm)].map(([, name]) => name));
  expect([...bundled].filter((name) => !heads.has(name))).toEqual([]);
  expect(heads).toContain("assemblyscript");
});

test("the package needs only zod, and every file that package.json names is there", async () => {
  const about = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  expect(Object.keys(about.dependencies)).toEqual(["zod"]);
  expect(about.optionalDependencies).toBeUndefined();
  const named = [
    about.main,
    ...Object.values(about.bin),
    ...(JSON.stringify(about.exports).match(/\.\/[^"]+/g) ?? []),
  ];
  expect(named.filter((file) => /\.\w+$/.test(file) && !existsSync(join(installed, file)))).toEqual([]);
  expect((await readdir(join(folder, "node_modules"))).sort()).toEqual([
    ...[".bin", ".package-lock.json", "leasefold", "zod"],
  ]);
});

test("both entries load, and have types that need no other package", async () => {
  await writeFile(
    join(folder, "uses.ts"),
    `import { lead, type LeadOptions } from "leasefold/election";
     import { exactSum, portableMath, quantileSketch, randomStream } from "leasefold";
     const sum = exactSum();
     for (const x of [1e100, 1, -1e100]) sum.add(x);
     const sketch = quantileSketch(0.01);
     sketch.add(randomStream(1, 2).normal() * portableMath.exp(0));
     export const options: LeadOptions["on"] = undefined;
     console.log(typeof lead, sum.value(), sketch.count);`,
  );
  expect((await node("uses.ts")).out).toBe("function 1 1\n");
  await mkdir(join(folder, "node_modules/@types"));
  await symlink(join(root, "node_modules/@types/node"), join(folder, "node_modules/@types/node"), "junction");
  await symlink(
    join(root, "node_modules/undici-types"),
    join(folder, "node_modules/undici-types"),
    "junction",
  );
  // Also the types of the package itself are checked: no --skipLibCheck.
  expect(await tsc("uses.ts")).toMatchObject({ code: 0, out: "" });
});

test("what `new` writes passes its test, type-checks under plain nodenext and keeps the laws", async () => {
  const made = await leasefold("new", "mine");
  expect(made.out).toContain("Its test: node --test mine.test.ts");
  expect(made.out).not.toContain("linked");
  expect(await node("--test", "--test-reporter=tap", "mine.test.ts")).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^# pass 4$/m),
  });
  expect(await tsc("mine.ts", "mine.test.ts")).toMatchObject({ code: 0, out: "" });
  expect(await tsc("--allowImportingTsExtensions", "mine.test.ts")).toMatchObject({ code: 0, out: "" });
  const checked = await leasefold("check", "./mine.ts", "--below", "20000");
  expect(checked, checked.out).toMatchObject({ code: 0, err: "" });
});

test.skipIf(!hasPython)("what `new --python` writes passes its test and type-checks", async () => {
  const made = await leasefold("new", "--python", "snake");
  expect(made, made.err).toMatchObject({ code: 0, out: expect.stringContaining("snake.py\n") });
  const tested = await node("--test", "--test-reporter=tap", "snake.test.ts");
  expect(tested, tested.out).toMatchObject({ code: 0, out: expect.stringMatching(/^# pass 4$/m) });
  expect(await tsc("snake.ts", "snake.test.ts")).toMatchObject({ code: 0, out: "" });
});

test("`up` says in one line what to add, and works once it is there", async () => {
  expect(await leasefold("up")).toEqual({
    code: 2,
    out: "",
    err: "leasefold: the storage emulator is missing: install it with npm install --save-dev azurite@3\n",
  });
  await symlink(join(root, "node_modules/azurite"), join(folder, "node_modules/azurite"), "junction");
  const names = hasPython ? ["mine", "snake"] : ["mine"];
  const files = names.flatMap((name) => ["--calculation", `./${name}.ts`]);
  const up = await leasefold("up", "--detach", "--instances", "1", ...files);
  expect(up, up.err).toMatchObject({ code: 0 });
  for (const name of names) {
    const { code, out, err } = await leasefold("submit", name, "--below", "1000", "--wait");
    expect([code, err.includes("complete"), JSON.parse(out || "{}")], err).toEqual([
      0,
      true,
      { below: 1000, start: 871, steps: 178 },
    ]);
  }
});

test.skipIf(!hasPython)(
  "the Dockerfile that `new --python` writes copies what its worker needs",
  async () => {
    const lines = (await readFile(join(folder, "snake.Dockerfile"), "utf8")).split("\n");
    const wordsOf = (instruction: string) =>
      lines.filter((line) => line.startsWith(`${instruction} `)).map((line) => line.split(" ").slice(1));
    // No Docker runs here: its files in a folder of their own, and the packages as npm has installed them.
    const image = await mkdtemp(join(tmpdir(), "leasefold-image-"));
    try {
      for (const paths of wordsOf("COPY"))
        for (const path of paths.slice(0, -1).filter((one) => !one.endsWith("*")))
          await cp(join(folder, path), join(image, String(paths.at(-1)), basename(path)));
      await symlink(join(folder, "node_modules"), join(image, "node_modules"), "junction");
      const [entry = []] = wordsOf("ENTRYPOINT");
      const [command, ...args] = JSON.parse(entry.join(" "));
      expect(command).toBe("node");
      const connection = (await leasefold("show", "connection")).out.trim();
      const worked = await run(
        process.execPath,
        [...args, "--idle", "1s", "--connection", connection],
        image,
      );
      expect(worked, worked.err).toMatchObject({ code: 0, out: expect.stringMatching(/computes snake for/) });
    } finally {
      await rm(image, { recursive: true, force: true });
    }
  },
);
