import { execFile } from "node:child_process";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { routes } from "../../src/app/api/routes.ts";
import { builtProgram } from "../support/builtProgram.ts";
import { checkAnswer } from "../support/checkAnswer.ts";
import { hasPython } from "../support/python.ts";

/** The calculations of `examples/`, each copied over what `leasefold new` writes in an empty folder. */
const root = join(import.meta.dirname, "../..");
const { folder, leasefold } = builtProgram();

const node = (name: string, ...args: string[]) =>
  promisify(execFile)(process.execPath, args, { cwd: join(folder(), name) });

afterEach(() => leasefold("down"));

const examples = [
  ["value-at-risk", "make-market.ts", "market"],
  ["word-counts", "make-texts.ts", "texts"],
  ["regression", "make-houses.ts", "houses"],
] as const;

test("each example is a project by new, keeps its own test, and instances that lack it load and run it", async () => {
  const results: Record<string, unknown> = {};
  for (const [name, make, data] of examples) {
    const source = join(root, "examples", name);
    expect((await readFile(join(source, `${name}.ts`), "utf8")).trimEnd().split("\n").length).toBeLessThan(
      60,
    );
    expect(await leasefold("new", name, "--dir", name)).toMatchObject({ code: 0, err: "" });
    await cp(source, join(folder(), name), { recursive: true });
    if (name === "regression")
      await symlink(join(root, "node_modules/d3-dsv"), join(folder(), name, "node_modules/d3-dsv"));
    const { stdout } = await node(name, "--test", "--test-reporter=tap");
    expect(stdout).toMatch(/^# fail 0$/m);

    await node(name, make, data);
    const file = `./${name}/${name}.ts`;
    const isFirst = name === examples[0][0];
    const up = await leasefold(
      "up",
      ...(isFirst ? ["--detach", "--instances", "2", "--calculation"] : ["--add"]),
      file,
    );
    expect(up, up.err).toMatchObject({ code: 0 });
    expect(up.out).toContain(`now: leasefold submit ${file} --upload FOLDER --wait`);
    const ended = await leasefold("submit", file, "--upload", `${name}/${data}`, "--wait");
    expect(ended, ended.err).toMatchObject({ code: 0 });
    results[name] = JSON.parse(ended.out);
  }
  expect(results).toMatchObject({
    "value-at-risk": { scenarios: 20_000 },
    "word-counts": { files: 500, words: 194_750 },
    regression: { rows: 10_000 },
  });
});

test("the example of one long result keeps its own test, and instances join its table in order", async () => {
  expect(await leasefold("new", "collatz", "--dir", "collatz")).toMatchObject({ code: 0, err: "" });
  await cp(join(root, "examples/collatz"), join(folder(), "collatz"), { recursive: true });
  const { stdout } = await node("collatz", "--test", "--test-reporter=tap");
  expect(stdout).toMatch(/^# fail 0$/m);
  const file = "./collatz/collatz.ts";
  const checked = await leasefold("check", file, "--numbers", "1000", "--rows", "10");
  expect(checked, checked.out).toMatchObject({ code: 0 });
  const up = await leasefold("up", "--detach", "--instances", "2", "--calculation", file);
  expect(up, up.err).toMatchObject({ code: 0 });
  const ended = await leasefold(
    "submit",
    file,
    "--numbers",
    "20000",
    "--rows",
    "99",
    "--pack-size",
    "7",
    "--wait",
  );
  expect(ended, ended.err).toMatchObject({ code: 0 });
  const [head, ...rows] = ended.out.trimEnd().split("\n");
  expect([head, rows[26]]).toEqual(["number,steps,peak", "27,111,9232"]);
  expect(rows.map((row) => Number(row.split(",")[0]))).toEqual(
    Array.from({ length: 20_000 }, (_, at) => at + 1),
  );
});

test.runIf(hasPython)(
  "the programs over HTTP, in TypeScript and in Python, submit one run and print the same result",
  async () => {
    expect(await leasefold("up", "--detach", "--instances", "2")).toMatchObject({ code: 0 });
    const [url = "", key = ""] = (await Promise.all(["url", "key"].map((one) => leasefold("show", one)))).map(
      ({ out }) => out.trim(),
    );
    const env = { ...process.env, LEASEFOLD_URL: url, LEASEFOLD_KEY: key };
    const http = join(root, "examples/http");
    const program = (name: string, file: string) => promisify(execFile)(name, [join(http, file)], { env });
    const typed = await program(process.execPath, "queens.ts");
    expect(JSON.parse(typed.stdout)).toMatchObject({ n: 10, solutions: 724 });
    expect(typed.stderr).toContain("queens-10 complete");
    const plain = await program("python3", "queens.py");
    expect(plain.stdout).toBe(`${typed.stdout}`);
    const { out } = await leasefold("runs", "--json");
    expect(JSON.parse(out).runs).toMatchObject([{ run: "queens-10", tags: { team: "chess" } }]);
    // Of a run of real processes, too, each answer is as its schema says. One name is that of a queue and of a schedule.
    const nightly = ["--cron", "0 2 * * *", "--", "queens", "--n", "8"];
    expect(await leasefold("schedule", "add", "wake", ...nightly)).toMatchObject({ code: 0 });
    // No link can be signed where storage is reached by a key.
    const read = routes.filter(
      ({ method, answer, route }) =>
        method === "GET" && typeof answer !== "string" && !route.endsWith("result/link"),
    );
    for (const { route } of read) {
      const path = route.replace("{id}", "queens-10").replace("{name}", "wake");
      const answer = await fetch(`${url}/${path}`, { headers: { "x-functions-key": key } });
      expect([path, answer.status]).toEqual([path, 200]);
      checkAnswer(`GET ${route}`, { status: answer.status, jsonBody: await answer.json() });
    }
  },
  120_000,
);

test.skipIf(!hasPython)(
  "instances compute a program in Python to the bytes of the one in TypeScript, and keep what it prints",
  async () => {
    const copy = join(folder(), "pi");
    await cp(join(root, "examples/pi"), copy, { recursive: true });
    const script = await readFile(join(copy, "pi.py"), "utf8");
    const printing = '    total = 0.0\n    print(f"begins at {begin}")\n';
    await writeFile(join(copy, "pi.py"), script.replace("    total = 0.0\n", printing));
    const files = ["./pi/pi.ts", "./pi/pi-python.ts"];
    const named = files.flatMap((file) => ["--calculation", file]);
    const up = await leasefold("up", "--detach", "--instances", "2", ...named);
    expect(up, up.err).toMatchObject({ code: 0 });
    const [first, second] = [
      await leasefold("submit", files[0] as string, "--terms", "3e6", "--pack-size", "4", "--wait"),
      await leasefold(
        "submit",
        files[1] as string,
        "--id",
        "in-python",
        "--terms",
        "3e6",
        "--pack-size",
        "4",
        "--wait",
      ),
    ];
    expect(second, second.err).toMatchObject({ code: 0 });
    expect(second.out).toBe(first.out);
    expect(JSON.parse(second.out)).toMatchObject({ terms: 3_000_000 });
    const { out } = await leasefold("logs", "in-python");
    expect(out).toMatch(/chunk 59.*begins at 2950000/);
  },
  120_000,
);
