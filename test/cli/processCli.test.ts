import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";

const run = promisify(execFile);
const main = join(import.meta.dirname, "../../src/cli/main.ts");
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-prints-"));
  const say = (what: string) => `console.log("${what}"); process.stdout.write("${what}\\n");`;
  await writeFile(
    join(folder, "prints.mjs"),
    `import { z } from "leasefold"; ${say("loading")}
     export default { name: "prints", summary: "a test", params: z.strictObject({}),
       plan() { ${say("planning")} setTimeout(() => { ${say("later")} }, 1); return 4; },
       compute({ index }) { ${say("computing")} return index; },
       merge(a, b) { ${say("merging")} return a + b; }, zero: () => 0,
       finish(sum) { ${say("finishing")} return sum; } };`,
  );
});

afterAll(() => rm(folder, { recursive: true, force: true }));

it.each(["check ./prints.mjs --json", "plan prints --json"])(
  "Standard output of %s is one JSON document, whatever the calculation prints",
  async (line) => {
    const program = `await (await import(${JSON.stringify(main)})).main(process.argv.slice(1));`;
    const { stdout, stderr } = await run(
      process.execPath,
      ["--input-type=module", "-e", program, "--", ...line.split(" ")],
      { cwd: folder, env: { ...process.env, LEASEFOLD_CALCULATIONS: join(folder, "prints.mjs") } },
    );
    expect(JSON.parse(stdout)).toBeTypeOf("object");
    for (const what of ["planning", "computing"]) expect(stderr).toContain(what);
  },
  60_000,
);
