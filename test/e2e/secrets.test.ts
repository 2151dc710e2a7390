import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RealApp, startRealApp } from "../support/realApp.ts";

/**
 * Whole runs over a table with personal cells: what the instances log, what every command prints with and without
 * `--json`, and what the API answers holds neither a cell nor a secret. Results and peeked messages hold what users
 * asked for, and `show` exists to print secrets; they are left out.
 */
const bin = join(import.meta.dirname, "../../bin/leasefold.js");
const cells = ["Zoe-Privat-4711", "zoe@example.test", "13,5 Millionen"];

let folder: string;
let app: RealApp;
const said: string[] = [];

interface Ended {
  readonly code: number;
  readonly text: string;
}

async function leasefold(args: readonly string[], connection = app.connectionString): Promise<Ended> {
  const env = { PATH: process.env["PATH"], DataStorage: connection, XDG_RUNTIME_DIR: join(folder, "run") };
  const ended = await new Promise<Ended>((resolve) => {
    execFile(process.execPath, [bin, ...args], { cwd: folder, env }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), text: `${out}${err}` }),
    );
  });
  said.push(`leasefold ${args.join(" ")}\n${ended.text}`);
  return ended;
}

async function ask(path: string, init: RequestInit = {}): Promise<string> {
  const url = `${app.instances.instances[0]?.httpUrl}/api/${path}`;
  const headers = { "x-functions-key": app.instances.functionKey, "content-type": "application/json" };
  const answered = await fetch(url, { headers, ...init });
  const text = await answered.text();
  said.push(`${init.method ?? "GET"} ${path} ${JSON.stringify([...answered.headers])}\n${text}`);
  return text;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "leasefold-secrets-"));
  await mkdir(join(folder, "run"), { mode: 0o700 });
  await mkdir(join(folder, "data"));
  const rows = Array.from({ length: 200 }, (_, row) => `${cells[0]}-${row},${cells[1]},${row}`);
  const bad = `${cells[0]},${cells[1]},"${cells[2]}"`;
  await writeFile(join(folder, "data", "good.csv"), `name,mail,amount\n${rows.join("\n")}\n`);
  await mkdir(join(folder, "broken"));
  await writeFile(join(folder, "broken", "bad.csv"), `name,mail,amount\n${rows.join("\n")}\n${bad}\n`);
  app = await startRealApp({ instances: 1 });
});

afterAll(async () => {
  await app?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Connection string, its key, and the key of the API. */
const secrets = (): readonly string[] => [
  app.connectionString,
  /AccountKey=([^;]+)/.exec(app.connectionString)?.[1] ?? "",
  app.instances.functionKey,
];

const expectCode = ({ code, text }: Ended, wanted: number): void => expect(code, text).toBe(wanted);

function expectNoSecret(): void {
  const logged = app.events.map((event) => JSON.stringify(event));
  expect(logged.length).toBeGreaterThan(10);
  for (const text of [...said, ...logged]) {
    for (const hidden of [...secrets(), ...cells]) {
      expect(hidden.length).toBeGreaterThan(10);
      // Not by `toContain`, whose message would show all that was said.
      if (text.includes(hidden)) throw new Error(`${hidden} is told: ${text.slice(0, 300)}`);
    }
  }
}

test("no log line, error, answer or output of whole runs tells a cell, a connection string or a key", async () => {
  for (const source of ["data", "broken"]) {
    expectCode(await leasefold(["upload", `${source}/`, "--to", `${source}/`]), 0);
  }
  const query = [
    ...["--query", "select mail, sum(amount) as s, count(*) as n from data group by mail"],
    ...["--read", "types={'amount': 'double'}"],
  ];
  const submitted = (source: string, ...more: string[]) =>
    leasefold([
      "submit",
      "sql",
      "--source",
      `leasefold-inputs/${source}/`,
      ...query,
      "--id",
      source,
      ...more,
    ]);
  expectCode(await leasefold(["plan", "sql", "--source", "leasefold-inputs/data/", ...query]), 0);
  expectCode(await submitted("data", "--wait", "--output", "result.json"), 0);
  expectCode(await submitted("broken", "--wait", "--output", "none.json"), 7);
  const views = [["runs"], ["leader"], ["queues"], ["doctor"], ["calculations", "sql"], ["retry", "data"]];
  const ofRun = (run: string) => ["status", "failures", "verify", "result"].map((command) => [command, run]);
  // The result of the one is what its user asked for; the other has none.
  const asked = [...views, ...ofRun("broken"), ...ofRun("data").slice(0, -1)];
  await Promise.all(asked.map((args) => leasefold([...args, "--json"])));
  await Promise.all(ofRun("broken").map((args) => leasefold(args)));
  expect((await leasefold(["failures", "broken", "--json"])).text).toContain("amount");
  for (const path of [
    "runs",
    "runs/data",
    "runs/broken",
    "runs/broken/failures",
    "leader",
    "queues",
    "calculations",
  ])
    await ask(path);
  await ask("runs/broken/result");
  await ask("runs", {
    method: "POST",
    body: '{"calculation":"sql","params":{"source":"data/","by":7}}',
  });
  expectNoSecret();
});

test("no error about a connection tells its key", async () => {
  const key = "U2VjcmV0IG9mIGEgcGVyc29uIHRoYXQgbm9ib2R5IGtub3dz";
  const wrong = app.connectionString.replace(/AccountKey=[^;]+/, `AccountKey=${key}`);
  for (const connection of [
    wrong,
    `AccountKey=${key}`,
    `${key};${key}`,
    `DefaultEndpointsProtocol=https;${key}`,
  ]) {
    const { code, text } = await leasefold(["runs", "--json"], connection);
    expect([2, 4, 5]).toContain(code);
    const given = await leasefold(["runs", "--connection", connection]);
    for (const told of [text, given.text])
      expect(told.includes(key), `the key is told: ${told.slice(0, 200)}`).toBe(false);
  }
});
