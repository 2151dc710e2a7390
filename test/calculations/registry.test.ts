import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { ConfigError, InputError } from "../../src/model/errors.ts";

const failingFile = join(import.meta.dirname, "..", "fixtures", "failing.calculation.ts");
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-registry-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the registry", () => {
  test("the registry lists the built-in calculations", async () => {
    const known = await loadCalculations([]);
    expect(known.list().map(({ name }) => name)).toEqual([
      "primes",
      "queens",
      "options",
      "aggregate",
      "inventory",
      "mandelbrot",
    ]);
    expect(known.get("primes").name).toBe("primes");
  });

  test("versionOf returns the declared version of a built-in calculation, or the hash of a user's file", async () => {
    const known = await loadCalculations([failingFile]);
    expect(known.versionOf("primes")).toBe("primes@1");
    const hash = createHash("sha256")
      .update(await readFile(failingFile))
      .digest("hex");
    expect(known.versionOf("failing")).toBe(`failing@sha256:${hash.slice(0, 12)}`);
    expect(thrownBy(() => known.versionOf("pi"))).toBeInstanceOf(InputError);
  });

  test("an unknown calculation fails with the names of the known ones", async () => {
    const known = await loadCalculations([failingFile]);
    const error = thrownBy(() => known.get("pi"));
    expect(error).toBeInstanceOf(InputError);
    expect(error).toMatchObject({
      reason: "unknown",
      message: expect.stringMatching(/pi.*primes, queens, .*failing; .*LEASEFOLD_CALCULATIONS.*DEPLOY\.md/),
    });
  });

  test("a user's file is loaded with its parameters and their help", async () => {
    const known = await loadCalculations([failingFile]);
    const failing = known.get("failing");
    expect(known.parseParams(failing, { chunks: "3" })).toMatchObject({ chunks: 3, throws: "" });
    const help = known.describeParams(failing);
    expect(help[0]).toEqual({
      name: "chunks",
      type: "integer",
      default: 10,
      description: "how many chunks",
    });
  });

  test("a user's file outside of this project can import leasefold and its zod", async () => {
    const file = await put(
      "far.ts",
      `import { defineCalculation, z } from "leasefold";
       export const calculation = defineCalculation({
         name: "far", summary: "", params: z.object({ a: z.number().default(4).describe("four") }),
         plan: ({ a }): number => a, compute: ({ index }) => index, merge: (a: number, b: number) => a + b, zero: () => 0,
       });`,
    );
    const known = await loadCalculations([file]);
    const far = known.get("far");
    expect(known.describeParams(far)).toEqual([
      { name: "a", type: "number", default: 4, description: "four" },
    ]);
    expect(known.parseParams(far, {})).toEqual({ a: 4 });
  });

  test("a file that is missing, broken, empty or badly named fails with a configuration error that names it", async () => {
    await expectRefused(join(folder, "nowhere.ts"), /no calculation file .*nowhere\.ts/);
    await expectRefused(
      await put("broken.ts", "throw new Error('broken at once');"),
      /broken at once \(broken\.ts:1\)$/,
    );
    await expectRefused(await put("torn.ts", "const a = 1;\nconst b: = 2;"), /\(torn\.ts:2\)$/);
    await expectRefused(await put("empty.ts", "export const a = 1;"), /empty\.ts exports no calculation/);
    await expectRefused(
      await put("half.ts", "export default { name: 'half' };"),
      /it lacks params, plan, .*zero$/,
    );
    const parts = "params: {}, plan() {}, compute() {}, merge() {}, zero() {}";
    await expectRefused(await put("name.ts", `export default { name: "A b", ${parts} };`), /"A b"/);
  });

  test("two calculations cannot have the same name", async () => {
    const parts = "params: {}, plan() {}, compute() {}, merge() {}, zero() {}";
    const file = await put("twin.ts", `export default { name: "primes", ${parts} };`);
    await expectRefused(file, /already a calculation named primes/);
  });
});

async function put(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

async function expectRefused(file: string, message: RegExp): Promise<void> {
  const error = await loadCalculations([file]).then(
    () => expect.fail(`${file} was loaded`),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toMatch(message);
}

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return expect.fail("nothing was thrown");
}
