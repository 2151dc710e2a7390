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

/** Each with what makes its input, and the options of a run without any. */
const examples = [
  { name: "value-at-risk", make: "make-market.ts", data: "market" },
  { name: "word-counts", make: "make-texts.ts", data: "texts" },
  { name: "regression", make: "make-houses.ts", data: "houses", needs: "d3-dsv" },
  { name: "inventory", data: "." },
  { name: "queens", options: ["--n", "8"], needs: "assemblyscript" },
  { name: "options", options: ["--paths", "300000"] },
  { name: "mandelbrot", options: ["--width", "64", "--height", "40"] },
  { name: "collatz", options: ["--numbers", "20000", "--rows", "99", "--pack-size", "7"] },
] as const;

test("each example is a project by new, keeps its own test, and instances that lack it load and run it", async () => {
  const results: Record<string, string> = {};
  for (const one of examples) {
    const { name } = one;
    expect(await leasefold("new", name, "--dir", name)).toMatchObject({ code: 0, err: "" });
    await cp(join(root, "examples", name), join(folder(), name), { recursive: true });
    if ("needs" in one)
      await symlink(join(root, "node_modules", one.needs), join(folder(), name, "node_modules", one.needs));
    const { stdout } = await node(name, "--test", "--test-reporter=tap");
    expect(stdout).toMatch(/^# fail 0$/m);
    expect(stdout).toMatch(/^# skipped 0$/m);

    if ("make" in one) await node(name, one.make, one.data);
    const file = `./${name}/${name}.ts`;
    const first = ["--detach", "--instances", "2", "--calculation"];
    const up = await leasefold("up", ...(name === examples[0].name ? first : ["--add"]), file);
    expect(up, up.err).toMatchObject({ code: 0 });
    expect(up.out).toContain(
      `now: leasefold submit ${file} ${"data" in one ? "--upload FOLDER " : ""}--wait`,
    );
    const given = "data" in one ? ["--upload", join(name, one.data)] : one.options;
    const ended = await leasefold("submit", file, ...given, "--wait");
    expect(ended, ended.err).toMatchObject({ code: 0 });
    results[name] = ended.out;
  }
  const { inventory = "", mandelbrot = "", collatz = "", ...rest } = results;
  expect(
    Object.fromEntries(Object.entries(rest).map(([name, out]) => [name, JSON.parse(out)])),
  ).toMatchObject({
    "value-at-risk": { scenarios: 20_000 },
    "word-counts": { files: 500, words: 194_750 },
    regression: { rows: 10_000 },
    queens: { n: 8, solutions: 92 },
    options: { paths: 300_000 },
  });
  expect(inventory).toMatch(/inventory\.ts","bytes":\d+,"sha256":"[0-9a-f]{64}"\}\n/);
  expect(mandelbrot).toContain("PNG");
  const [head, ...rows] = collatz.trimEnd().split("\n");
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
    const typed = await program(process.execPath, "primes.ts");
    expect(JSON.parse(typed.stdout)).toMatchObject({ primes: 5_761_455 });
    expect(typed.stderr).toContain("primes-8 complete");
    const plain = await program("python3", "primes.py");
    expect(plain.stdout).toBe(`${typed.stdout}`);
    const { out } = await leasefold("runs", "--json");
    expect(JSON.parse(out).runs).toMatchObject([{ run: "primes-8", tags: { team: "numbers" } }]);
    // Of a run of real processes, too, each answer is as its schema says. One name is that of a queue and of a schedule.
    const nightly = ["--cron", "0 2 * * *", "--", "primes", "--to", "100"];
    expect(await leasefold("schedule", "add", "wake", ...nightly)).toMatchObject({ code: 0 });
    // No link can be signed where storage is reached by a key.
    const read = routes.filter(
      ({ method, answer, route }) =>
        method === "GET" && typeof answer !== "string" && !route.endsWith("result/link"),
    );
    for (const { route } of read) {
      const path = route.replace("{id}", "primes-8").replace("{name}", "wake");
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
