import { execFile, spawn } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { fileThere, writesFile } from "../../../test/support/fileThere.ts";
import { patienceMs } from "../../../test/support/patience.ts";

const run = promisify(execFile);
const main = join(import.meta.dirname, "../main.ts");
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

it("In a CommonJS package TypeScript with imports loads, and JavaScript is refused with both ways out", async () => {
  const common = join(folder, "common");
  await mkdir(common);
  await writeFile(join(common, "package.json"), '{ "type": "commonjs" }');
  await cp(join(import.meta.dirname, "../../../examples/pi/pi.ts"), join(common, "pi.ts"));
  const checked = (file: string) => {
    const program = `process.exit(await (await import(${JSON.stringify(main)})).main(["check", "${file}"]));`;
    const node = [process.execPath, ["--input-type=module", "-e", program], { cwd: common }] as const;
    return run(...node).catch((error: unknown) => error);
  };
  expect(await checked("./pi.ts")).toMatchObject({ stdout: expect.stringContaining("pi: no law is broken") });
  await writeFile(
    join(common, "helped.ts"),
    'import { answer } from "./helper.ts";\nexport default { answer };\n',
  );
  await writeFile(join(common, "helper.ts"), "export const answer: number = 42;\n");
  const loaded = expect.stringContaining("helped.ts exports no calculation: it lacks name");
  expect(await checked("./helped.ts")).toMatchObject({ code: 2, stderr: loaded });
  await writeFile(join(common, "mine.js"), 'import { z } from "leasefold";\nexport default z;\n');
  const refused = expect.stringMatching(
    /mine\.js does not load: .*outside a module.*"type": "module".*\.mjs/,
  );
  expect(await checked("./mine.js")).toMatchObject({ code: 2, stderr: refused });
});

it.skipIf(process.platform === "win32").each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const)(
  "A command that %s stops ends with %d",
  async (signal, code) => {
    await writeFile(
      join(folder, "endless.mjs"),
      `import { z } from "leasefold";
     export default { name: "endless", summary: "a test", params: z.strictObject({}), plan: () => 4,
       compute() { console.log("computing"); for (;;); }, merge: (a) => a, zero: () => 0 };`,
    );
    const program = `process.exit(await (await import(${JSON.stringify(main)})).main(["check", "./endless.mjs"]));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], { cwd: folder });
    child.stdout.resume();
    const computing = new Promise<void>((resolve) =>
      child.stderr.on("data", (text) => String(text).includes("computing") && resolve()),
    );
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await computing;
    child.kill(signal);
    expect(await ended).toBe(code);
  },
  60_000,
);

it.skipIf(process.platform === "win32").each(["plan", "submit", "up --calculation"])(
  "SIGTERM ends %s of a file that never ends loading",
  async (command) => {
    const began = join(folder, `began-${command.slice(0, 2)}`);
    await writeFile(join(folder, "loops.mjs"), `${writesFile(began)} for (;;);`);
    const argv = JSON.stringify([...command.split(" "), "./loops.mjs"]);
    const program = `process.exit(await (await import(${JSON.stringify(main)})).main(${argv}));`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      ...{ cwd: folder, stdio: "ignore", env: { ...process.env, XDG_RUNTIME_DIR: folder } },
      // A process that is blocked ends no other way.
      ...{ timeout: patienceMs, killSignal: "SIGKILL" },
    });
    const ended = new Promise((resolve) => child.once("exit", (...how) => resolve(how)));
    await fileThere(began);
    child.kill("SIGTERM");
    expect(await ended).toEqual([143, null]);
  },
  60_000,
);
