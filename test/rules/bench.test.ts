import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const bench = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(root, "test/bench/bench.ts"), ...args], { cwd: root });

test("the bench answers --help with its options and the question of each bench", async () => {
  const { stdout, stderr } = await bench("--help");
  expect(stderr).toBe("");
  for (const part of ["npm run bench", "--quick", "--json", "takeover", "scale", "peers"])
    expect(stdout).toContain(part);
});

test.each(["--nonsense", "nonsense"])("the bench refuses %s with its help and no stack", async (arg) => {
  const refused = bench(arg);
  await expect(refused).rejects.toMatchObject({ code: 2, stdout: "" });
  const { stderr } = await refused.catch((error: { stderr: string }) => error);
  expect(stderr).toContain("nonsense");
  expect(stderr).toContain("npm run bench");
  expect(stderr).not.toMatch(/^ +at /m);
});
