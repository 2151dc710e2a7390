import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-bin-"));
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await copyFile(join(import.meta.dirname, "../../../bin/leasefold.js"), join(folder, "bin/leasefold.js"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const start = (...args: string[]) => run(process.execPath, [join(folder, "bin/leasefold.js"), ...args]);

it("The bin says in one line that the program is not built yet", async () => {
  await expect(start("runs")).rejects.toMatchObject({
    code: 2,
    stderr: 'leasefold: it is not built yet: run "npm run build" first\n',
  });
});

it("The bin hands its arguments to the built program and ends with its exit code", async () => {
  await mkdir(join(folder, "dist"));
  const program = "exports.main = async (argv) => { console.log(JSON.stringify(argv)); return 3; };";
  await writeFile(join(folder, "dist/cli.cjs"), program);
  await expect(start("result", "r 1")).rejects.toMatchObject({
    code: 3,
    stdout: '["result","r 1"]\n',
    stderr: "",
  });
});

it.each([
  ["20.20.0", false],
  ["22.17.9", false],
  ["22.18.0", true],
  ["23.11.1", false],
  ["24.0.0", true],
  ["26.1.0", true],
])("The bin on Node %s: taken is %s, as the engines of package.json say", async (version, taken) => {
  const about = JSON.parse(await readFile(join(import.meta.dirname, "../../../package.json"), "utf8"));
  expect(about.engines).toEqual({ node: "^22.18.0 || >=24.0.0" });
  const asIf = `data:text/javascript,Object.defineProperty(process, "versions", { value: { node: "${version}" } })`;
  const ended = run(process.execPath, ["--import", asIf, join(folder, "bin/leasefold.js"), "runs"]);
  await expect(ended).rejects.toMatchObject(
    taken
      ? { code: 3, stdout: '["runs"]\n' }
      : {
          code: 2,
          stderr: `leasefold: it needs Node 22 from 22.18 on, or Node 24 or later, and this is ${version}\n`,
        },
  );
});
