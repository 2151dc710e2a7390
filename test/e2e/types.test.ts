import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

/** A folder far from this project, where `leasefold new` made its link and no types of Node are found. */
const root = resolve(import.meta.dirname, "../..");
const run = promisify(execFile);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-types-"));
  await run(process.execPath, [join(root, "bin/leasefold.js"), "new", "mine"], { cwd: folder });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const check = (file: string) =>
  run(
    process.execPath,
    [
      join(root, "node_modules/typescript/bin/tsc"),
      ...[
        "--ignoreConfig",
        "--noEmit",
        "--strict",
        "--skipLibCheck",
        "--target",
        "es2024",
        "--module",
        "nodenext",
        file,
      ],
    ],
    { cwd: folder },
  ).then(
    () => [],
    ({ stdout }) => (stdout as string).trim().split("\n"),
  );

test("a user's calculation has the types of leasefold, and needs none of Node", async () => {
  expect(await check("mine.ts")).toEqual([]);
  await writeFile(
    join(folder, "wrong.ts"),
    `import { defineCalculation, z } from "leasefold";
     import { election } from "leasefold/election";
     import { connect } from "leasefold/client";
     election.nothing; connect({ url: "" }).submit("primes", {}, { cap: "many" });
     export default defineCalculation({ name: "wrong", summary: "", params: z.object({ n: z.number() }),
       plan: ({ m }) => 1, compute: () => 0, merge: (a: number, b: number) => a + b, zero: () => 0 });`,
  );
  expect(await check("wrong.ts")).toEqual([
    expect.stringContaining("wrong.ts(2,"),
    expect.stringMatching(/^wrong\.ts\(4,68\).* Type .string. is not assignable to type .number./),
    expect.stringMatching(/^wrong\.ts\(6,.* Property 'm' does not exist on type '{ n: number; }'/),
  ]);
});

test("the partial's type follows from compute and merge, and an interface is a result; what JSON would lose is not", async () => {
  const start = `import { defineCalculation, z } from "leasefold";
    interface Found { readonly words: number; readonly most?: string }
    export const one = defineCalculation({ name: "own", summary: "", params: z.object({}), plan: () => 3,
      compute: ({ index }): Record<string, number> => ({ ["word" + index]: 1 }),
      merge: (a, b) => ({ ...a, ...b }), zero: () => ({}),`;
  await writeFile(
    join(folder, "own.ts"),
    `${start} finish: (part): Found => ({ words: Object.keys(part).length }) });`,
  );
  expect(await check("own.ts")).toEqual([]);
  await writeFile(join(folder, "lost.ts"), `${start} finish: (part) => new Map(Object.entries(part)) });`);
  const [first] = await check("lost.ts");
  expect(first).toMatch(/^lost\.ts\(5,.*JSON would lose part of this result/);
});

test("an error of leasefold/election that nobody catches prints no screens of source", async () => {
  const script = `require(${JSON.stringify(join(root, "dist/election.mjs"))}).lead({ connection: "", name: "x" }, () => 1);`;
  const failed = await run(process.execPath, ["-e", script]).catch((error: unknown) => error);
  const { stderr } = failed as { stderr: string };
  expect(stderr).toContain("the connection string of the storage is empty");
  expect(stderr.length).toBeLessThan(4_000);
});
