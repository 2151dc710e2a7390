import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { ConfigError, InputError } from "../../src/engine/model/errors.ts";

const failingFile = join(import.meta.dirname, "..", "fixtures", "failing.calculation.ts");
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-registry-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the registry", () => {
  test("the registry lists the built-in calculations", async () => {
    const known = await loadCalculations([]);
    expect(known.list().map(({ name }) => name)).toEqual(["primes"]);
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
      message: expect.stringMatching(/pi.*primes, failing; .*LEASEFOLD_CALCULATIONS.*OPERATIONS\.md/),
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
      /it lacks summary, params, plan, .*zero$/,
    );
    await expectRefused(await put("name.ts", exported('name: "A b"')), /"A b"/);
  });

  test("a calculation whose parts are of the wrong kind is refused by its file and the part", async () => {
    const words = 'is no schema of zod 4: import { z } from "leasefold"$';
    for (const [change, message] of [
      ["params: {}", `: params ${words}`],
      ["params: { safeParse: () => ({ success: true }), _def: {} }", `: params ${words}`],
      ["params: undefined", `: params ${words}`],
      ["summary: 5", ": summary is not a text$"],
      ["plan: 5", ": plan is not a function$"],
      ["compute: undefined", ": compute is not a function$"],
      ["merge: 'sum'", ": merge is not a function$"],
      ["zero: 0", ": zero is not a function$"],
      ["finish: null", ": finish is not a function$"],
      ["codec: null", ": codec.encode is not a function$"],
      ["codec: { encode() {} }", ": codec.decode is not a function$"],
    ] as const) {
      const file = await put(`kind${change.replaceAll(/\W/g, "")}.ts`, exported(change));
      await expectRefused(file, new RegExp(`${file}${message}`));
    }
    const whole = exported("finish: undefined, codec: { contentType: 'a/b', encode() {}, decode() {} }");
    expect((await loadCalculations([await put("whole.ts", whole)])).get("whole").summary).toBe("");
  });

  test("two calculations cannot have the same name", async () => {
    const file = await put("twin.ts", exported('name: "primes"'));
    await expectRefused(file, /already a calculation named primes/);
  });
});

async function put(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

test("a name of a megabyte is refused in a few words", async () => {
  const known = await loadCalculations([]);
  const { message } = thrownBy(() => known.get("x".repeat(1_000_000))) as Error;
  expect(message.length).toBeLessThan(1_000);
});

/** The text of a calculation file, with a change. */
const exported = (change: string): string =>
  `import { z } from "leasefold";
   export default { name: "whole", summary: "", params: z.object({}), plan() {}, compute() {}, merge() {}, zero() {}, ${change} };`;

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
