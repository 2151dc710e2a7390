import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
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
  await copyFile(join(import.meta.dirname, "../../bin/leasefold.js"), join(folder, "bin/leasefold.js"));
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
