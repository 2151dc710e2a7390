import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failureOf } from "../../../test/client/clientWorld.ts";
import { knownCalculations } from "../askedCalculation.ts";

const calculation = (name: string) =>
  `import z from ${JSON.stringify(createRequire(import.meta.url).resolve("zod"))};
   export default { name: "${name}", summary: "", params: z.object({}), plan() {}, compute() {}, merge() {}, zero() {} };`;

describe("the calculations that the CLI knows", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "leasefold-known-"));
    for (const name of ["one", "two"]) await writeFile(join(folder, `${name}.mjs`), calculation(name));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const names = async (env: Record<string, string>) =>
    (await knownCalculations({ env, folder })).list().map(({ name }) => name);

  it("are the built-in ones and those of the files in the setting", async () => {
    const builtIn = await names({});
    expect(builtIn).toContain("primes");
    expect(await names({ LEASEFOLD_CALCULATIONS: "one.mjs, two.mjs" })).toEqual([...builtIn, "one", "two"]);
  });

  it("are, where the command line names a file, the built-in ones and that one", async () => {
    const builtIn = await names({});
    const env = { LEASEFOLD_CALCULATIONS: "one.mjs" };
    const known = await knownCalculations({ env, folder }, "two.mjs");
    expect(known.list().map(({ name }) => name)).toEqual([...builtIn, "two"]);
  });

  it("a missing file is named in the error", async () => {
    const error = await failureOf(names({ LEASEFOLD_CALCULATIONS: "none.mjs" }));
    expect(error).toMatchObject({
      code: "no-calculation-file",
      message: expect.stringContaining("none.mjs"),
    });
  });
});
