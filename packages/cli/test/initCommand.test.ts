import { existsSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { calculationsHere } from "../askedCalculation.ts";
import { findUserApp } from "../local/userApp.ts";
import { nextStep } from "../render/instances.ts";
import { runAlone } from "./aloneCli.ts";

const root = resolve(import.meta.dirname, "../../..");
let folder = "";
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "leasefold-init-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const make = (line: string) => runAlone(`init ${line}`, folder);
const text = (file: string): Promise<string> => readFile(join(folder, file), "utf8");

const written = [
  ...[".funcignore", ".github/workflows/deploy.yml", ".gitignore", "README.md", "azure.yaml", "build.mjs"],
  ...["host.json", "infra/main.bicepparam", "local.settings.json", "package.json"],
  ...["src/calculations/collatz.test.ts", "src/calculations/collatz.ts", "src/index.ts", "tsconfig.json"],
];
const filesBelow = async (at: string): Promise<string[]> =>
  (await readdir(at, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map((one) =>
      join(one.parentPath, one.name)
        .slice(at.length + 1)
        .replaceAll("\\", "/"),
    )
    .sort();

it("init writes an app into a new folder, and prints the next five commands", async () => {
  const { exitCode, out, err } = await make("My_Nightly");
  expect([exitCode, err]).toEqual([0, ""]);
  expect(await filesBelow(join(folder, "My_Nightly"))).toEqual(written);
  expect(out).toMatch(/^wrote My_Nightly\/package\.json\n {6}My_Nightly\/tsconfig\.json\n/);
  expect(out).toContain(
    "\nThen:\n  cd My_Nightly\n  npm install\n  npm test\n  npm start\n  npx --no-install leasefold submit collatz --wait\n",
  );
  for (const file of written) expect(await text(`My_Nightly/${file}`), file).not.toMatch(/STARTING-|biome/);
  expect(await text("My_Nightly/README.md")).toMatch(/^# my-nightly\n/);
});

it("the app that init writes depends on this package, runs its main file as TypeScript, and ends with no other setting", async () => {
  await make("app");
  const { name, main, engines, dependencies, devDependencies } = JSON.parse(await text("app/package.json"));
  const own = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  expect([name, main, engines]).toEqual(["app", "src/index.ts", own.engines]);
  expect(Object.keys(dependencies)).toEqual(["leasefold"]);
  expect(await realpath(resolve(folder, "app", dependencies.leasefold.replace(/^file:/, "")))).toBe(
    await realpath(root),
  );
  for (const [one, version] of Object.entries(devDependencies))
    expect(own.devDependencies[one]).toBe(version);
  expect((await text("app/src/index.ts")).trim().split("\n")).toHaveLength(5);
  expect(await text("app/host.json")).toBe(await readFile(join(root, "host.json"), "utf8"));
  expect(await text("app/.gitignore")).toContain("\nlocal.settings.json\n");
});

it("the templates of an app that init writes are those of its package", async () => {
  await make("app");
  const using = /^using '(.*)'$/m.exec(await text("app/infra/main.bicepparam"))?.[1] ?? "";
  expect(using).toBe("../node_modules/leasefold/infra/main.bicep");
  expect(existsSync(join(root, "infra/main.bicep"))).toBe(true);
});

it("in a workspace of npm or Yarn the templates are where those install the package", async () => {
  await writeFile(join(folder, "package.json"), '{ "workspaces": ["packages/*"] }');
  await make("packages/app");
  const using = /^using '(.*)'$/m.exec(await text("packages/app/infra/main.bicepparam"))?.[1] ?? "";
  expect(using).toBe("../../../node_modules/leasefold/infra/main.bicep");
});

it("the workflow of an app that init writes uses the actions of ours", async () => {
  await make("app");
  const uses = (yaml: string): string[] =>
    [...yaml.matchAll(/uses: (.*)$/gm)].map(([, action]) => String(action));
  const ours = uses(await readFile(join(root, ".github/workflows/deploy.yml"), "utf8"));
  const theirs = uses(await text("app/.github/workflows/deploy.yml"));
  expect(theirs.length).toBeGreaterThan(2);
  expect(theirs.filter((action) => !ours.includes(action))).toEqual([]);
});

it("init overwrites nothing: it names the files that exist, and writes none", async () => {
  await writeFile(join(folder, "package.json"), "precious");
  await mkdir(join(folder, "infra"));
  await writeFile(join(folder, "infra/main.bicepparam"), "precious");
  const { exitCode, err } = await make(".");
  expect([exitCode, err.split("\n").length]).toEqual([2, 2]);
  expect(err).toContain(`${folder} has package.json, ${join("infra", "main.bicepparam")} already`);
  expect(await filesBelow(folder)).toEqual(["infra/main.bicepparam", "package.json"]);
  expect(await text("package.json")).toBe("precious");
});

it("init writes into a folder of other files, and --json lists what it wrote", async () => {
  await writeFile(join(folder, "LICENSE"), "mine");
  const { exitCode, out } = await make(". --json");
  expect(exitCode).toBe(0);
  const { files, next } = JSON.parse(out);
  expect(files.map((file: string) => file.slice(folder.length + 1).replaceAll("\\", "/")).sort()).toEqual(
    written,
  );
  expect(next[0]).toBe("npm install");
});

it("a folder that cannot be made is refused on one line", async () => {
  await writeFile(join(folder, "file"), "");
  const { exitCode, err } = await make("file");
  expect([exitCode, err.split("\n").length]).toEqual([2, 2]);
  expect(err).toContain("invalid --dir: cannot write in");
});

it("commands in an app of a user's own, or in a folder of it, know the calculations of src/calculations", async () => {
  await make("app");
  const app = join(folder, "app");
  const calculations = join(app, "src/calculations");
  expect(findUserApp(calculations)).toEqual({ appDir: app, calculations });
  expect(calculationsHere(app)).toBe(calculations);
  // Where others can place files, as in /tmp, they would choose the code.
  await chmod(app, 0o777);
  expect(findUserApp(calculations)).toBeUndefined();
  expect(findUserApp(folder)).toBeUndefined();
  expect(findUserApp(root)).toBeUndefined();
});

it("what up says to do next in an app of a user's own works without an installation for all folders", async () => {
  await make("app");
  const own = { file: join(folder, "app/src/calculations/collatz.ts"), params: [], schema: {} };
  const next = nextStep(join(folder, "app"), own);
  expect(next).toBe("npx --no-install leasefold submit ./src/calculations/collatz.ts --wait");
});

it("new in an app of a user's own writes into src/calculations, which up runs without an option", async () => {
  await make("app");
  const { out } = await runAlone("new other", join(folder, "app"));
  expect(out).toContain(`wrote ${join("src", "calculations", "other.ts")}\n`);
  expect(out).toContain("  npx --no-install leasefold up\n");
});
