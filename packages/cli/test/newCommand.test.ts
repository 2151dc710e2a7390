import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, readlink, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { runAlone } from "./aloneCli.ts";

const root = resolve(import.meta.dirname, "../../..");
let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-new-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** That of a clone: the system may have one that does not run TypeScript. */
const ownNode = join(root, "node_modules/node/bin/node");
const node = existsSync(ownNode) ? ownNode : "node";

const make = (line: string) => runAlone(`new ${line}`, folder);

describe("leasefold new", () => {
  it("writes a calculation and its test, and tells the next three commands", async () => {
    const { exitCode, out, err } = await make("my-pi");
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toBe(
      `wrote my-pi.ts
      my-pi.test.ts
      package.json
      tsconfig.json
linked ${join("node_modules", "leasefold")}, which both import

Then:
  npx --no-install leasefold check ./my-pi.ts
  npx --no-install leasefold up --calculation ./my-pi.ts
  npx --no-install leasefold submit my-pi --wait

Its test: npm test, or ${node} --test my-pi.test.ts
`,
    );
    expect(await readlink(join(folder, "node_modules", "leasefold"))).toContain(root);
    if (process.platform !== "win32") {
      const bin = await readlink(join(folder, "node_modules", ".bin", "leasefold"));
      expect(bin).toBe(join(root, "bin", "leasefold.js"));
    }
    for (const file of ["my-pi.ts", "my-pi.test.ts"]) {
      const text = await readFile(join(folder, file), "utf8");
      expect(text).not.toMatch(/STARTING-NAME|biome|calculation\.ts"/);
    }
  });

  it("writes a test of published truths and of the laws, which Node runs by itself, far from this project", async () => {
    await make("mine --dir inner/folder");
    const { NODE_OPTIONS: _, ...env } = process.env;
    const cwd = join(folder, "inner/folder");
    // The link leads to the built package; the source stands in for it, so that no build is needed here.
    const sources = {
      leasefold: "src/calculations/leasefold.ts",
      "leasefold/check": "packages/cli/check/leasefoldCheck.ts",
    };
    const hook = `data:text/javascript,import { registerHooks } from "node:module"; const sources = ${JSON.stringify(sources)};
      registerHooks({ resolve: (name, context, next) => name in sources
      ? { url: ${JSON.stringify(`file://${root}/`)} + sources[name], shortCircuit: true } : next(name, context) });`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", hook, "--test", "--test-reporter=tap", "mine.test.ts"],
      { cwd, env },
    );
    expect(stdout).toMatch(/^# pass 4$/m);
    expect(stdout).toMatch(/^# fail 0$/m);
  });

  it.each(['{ "type": "commonjs" }', "{}"])(
    "writes modules that may import where package.json is %s",
    async (text) => {
      await writeFile(join(folder, "package.json"), text);
      expect((await make("mine")).exitCode).toBe(0);
      expect((await readdir(folder)).sort()).toEqual([
        "mine.mts",
        "mine.test.mts",
        "node_modules",
        "package.json",
      ]);
      expect(await readFile(join(folder, "mine.test.mts"), "utf8")).toContain('from "./mine.mts"');
    },
  );

  it("new --python writes a program beside it, and the Dockerfile of a worker that copies them", async () => {
    await writeFile(join(folder, "package.json"), '{ "type": "commonjs" }');
    const { exitCode, out } = await make("snake --python --dir src/sums");
    expect(exitCode).toBe(0);
    const files = ["snake.mts", "snake.test.mts", "snake.py", "snake.Dockerfile"];
    for (const file of files) expect(out).toContain(`${join("src", "sums", file)}\n`);
    expect((await readdir(join(folder, "src/sums"))).sort()).toEqual([...files, "node_modules"].sort());
    const [calculation, , program, image] = await Promise.all(
      files.map((file) => readFile(join(folder, "src/sums", file), "utf8")),
    );
    for (const text of [calculation, program, image]) expect(text).not.toMatch(/STARTING-|biome/);
    expect(calculation).toContain('command: ["python3", "snake.py"]');
    expect(image).toContain("docker build -f src/sums/snake.Dockerfile -t snake .");
    expect(image).toContain("\nCOPY src/sums/snake.mts src/sums/snake.py src/sums/\n");
    expect(image).toContain('"--calculation", "./src/sums/snake.mts"]');
  });

  it("new --python overwrites no program", async () => {
    await writeFile(join(folder, "snake.py"), "precious");
    const { exitCode, err } = await make("snake --python");
    expect([exitCode, await readdir(folder)]).toEqual([2, ["snake.py"]]);
    expect(err).toContain("snake.py: choose another name");
  });

  it("writes a project that asks npm for the package, and none where there is one", async () => {
    await make("mine --dir inner");
    const read = async (file: string) => JSON.parse(await readFile(join(folder, file), "utf8"));
    const { type, dependencies } = await read("inner/package.json");
    expect(type).toBe("module");
    const at = dependencies.leasefold.replace(/^file:/, "");
    expect(await realpath(resolve(folder, "inner", at))).toBe(await realpath(root));
    expect((await read("inner/tsconfig.json")).compilerOptions.strict).toBe(true);
    const { out } = await make("other --dir inner/deeper");
    expect(out).not.toContain("package.json");
    expect(out).not.toContain("linked");
  });

  it("where a package.json does not ask for the package, new says how npm keeps the link", async () => {
    await writeFile(join(folder, "package.json"), '{ "type": "module" }');
    const { out } = await make("mine");
    expect(out).toContain(`npm removes this link when it installs; "npm install ${root}" keeps it`);
    expect(JSON.parse(await readFile(join(folder, "package.json"), "utf8"))).toEqual({ type: "module" });
  });

  it.each(["{ not json", "null", ""])(
    "new names a package.json above the folder that cannot be read: %j",
    async (text) => {
      const file = join(folder, "package.json");
      await writeFile(file, text);
      const { exitCode, err } = await make("mine --dir inner");
      expect([exitCode, await readdir(folder)]).toEqual([2, ["package.json"]]);
      expect(err).toContain(`leasefold: ${file} is no package.json`);
      expect(err).not.toContain("bug");
    },
  );

  it("new makes no link if the package is found already", async () => {
    await mkdir(join(folder, "node_modules/leasefold"), { recursive: true });
    await writeFile(join(folder, "node_modules/leasefold/package.json"), "{}");
    const { exitCode, out } = await make("mine");
    expect(exitCode).toBe(0);
    expect(out).not.toContain("linked");
  });

  it("new --json lists the files that it wrote", async () => {
    const { out } = await make("mine --json");
    expect(JSON.parse(out)).toMatchObject({
      calculation: join(folder, "mine.ts"),
      test: join(folder, "mine.test.ts"),
      next: ["npx --no-install leasefold check ./mine.ts", expect.anything(), expect.anything()],
    });
  });

  it("new --dir tells commands that work in that folder, and to go there first", async () => {
    const { out } = await make("mine --dir inner/folder");
    expect(out).toContain(`wrote ${join("inner", "folder", "mine.ts")}\n`);
    expect(out).toContain("Then:\n  cd inner/folder\n  npx --no-install leasefold check ./mine.ts\n");
    expect(out).toContain(`Its test: npm test, or ${node} --test mine.test.ts\n`);
    const here = await make(`other --dir ${folder}`);
    expect(here.out).toContain("Then:\n  npx --no-install leasefold check ./other.ts\n");
  });

  it("new overwrites no file", async () => {
    await writeFile(join(folder, "mine.test.ts"), "precious");
    const { exitCode, err } = await make("mine");
    expect([exitCode, await readdir(folder)]).toEqual([2, ["mine.test.ts"]]);
    expect(err).toContain("mine.test.ts: choose another name");
    expect(await readFile(join(folder, "mine.test.ts"), "utf8")).toBe("precious");
  });

  it.each([
    ["My_Pi", "must be 1 to 40 lower-case letters, digits and dashes, beginning with a letter"],
    ["../pi", "must be 1 to 40"],
    ["x".repeat(41), "must be 1 to 40"],
    ["primes", "there is a calculation named primes already"],
    ["pi --dir file", "invalid --dir: cannot write in"],
    ["", "missing required argument"],
  ])("%s is refused on one line", async (line, message) => {
    await writeFile(join(folder, "file"), "");
    const { exitCode, err } = await make(line);
    expect([exitCode, err.split("\n").length]).toEqual([2, 2]);
    expect(err).toContain(message);
    expect(await readdir(folder)).toEqual(["file"]);
  });
});
