import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";
import { builtIn } from "../../packages/sql/builtIn.ts";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";
import { findManifest, openResult } from "../../src/engine/client/result.ts";
import { status } from "../../src/engine/client/status.ts";
import { submit } from "../../src/engine/client/submit.ts";
import { namesOf } from "../../src/engine/model/names.ts";
import { systemClock as clock, systemRandom as random } from "../../src/engine/storage/system.ts";
import { until } from "../support/builtProgram.ts";

/** No Docker runs here: what the Dockerfile says is played, with its files only, as another user who can write nowhere else. */
const root = join(import.meta.dirname, "../..");
const dockerfile = (await readFile(join(root, "Dockerfile"), "utf8")).split("\n");
const argumentsOf = (instruction: string): string[] =>
  dockerfile.flatMap((line) =>
    line.startsWith(`${instruction} `) ? [line.slice(instruction.length + 1)] : [],
  );

let azurite: Azurite;
let folder = "";
beforeAll(async () => {
  azurite = await startAzurite();
  folder = await mkdtemp(join(tmpdir(), "leasefold-container-"));
});
afterAll(async () => {
  await azurite.stop();
  await rm(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

test("the image has the Node that the package is tested on, and no root", () => {
  for (const from of argumentsOf("FROM"))
    expect(from).toContain(`node:${packageJson.devDependencies.node}-slim`);
  expect(argumentsOf("USER")).toEqual(["node"]);
});

test("what the image is built from is not left out", async () => {
  const ignored = (await readFile(join(root, ".dockerignore"), "utf8"))
    .split("\n")
    .filter((one) => one !== "");
  // `build.test.ts` builds from these, the lockfile and one's own calculations aside.
  const needed = [
    "src",
    "packages",
    "scripts",
    "python",
    "docs/openapi.json",
    "bin",
    "calculations",
    "host.json",
  ];
  for (const path of [...needed, "package.json", "package-lock.json", "tsconfig.json", "tsconfig.types.json"])
    expect(ignored.filter((one) => `${path}/`.startsWith(`${one}/`))).toEqual([]);
});

test("with the files of the image alone, written by nobody, a worker computes, tells its health and drains", async () => {
  const [app, temporary] = [join(folder, "app"), join(folder, "tmp")];
  await mkdir(app);
  await mkdir(temporary);
  await chmod(folder, 0o755);
  await chmod(temporary, 0o777);
  for (const line of argumentsOf("COPY").filter((one) => one.startsWith("--from=build "))) {
    const [, ...paths] = line.split(" ");
    const target = paths.pop() ?? "";
    for (const path of paths) {
      const from = path.replace("/src/", "");
      await cp(join(root, from), join(app, target === "./" ? basename(from) : target), { recursive: true });
    }
  }
  for (const path of await readdir(app, { recursive: true, withFileTypes: true }))
    await chmod(join(path.parentPath, path.name), path.isDirectory() ? 0o555 : 0o444);
  await chmod(app, 0o555);

  const port = await freePort();
  const list = (text = "[]") =>
    (JSON.parse(text) as string[]).map((one) => (one === "8080" ? `${port}` : one));
  const command = [...list(argumentsOf("ENTRYPOINT")[0]), ...list(argumentsOf("CMD")[0]), "--lead"];
  let out = "";
  const worker = spawn(process.execPath, command.slice(1), {
    cwd: app,
    env: { PATH: process.env["PATH"], TMPDIR: temporary, DataStorage: azurite.connectionString },
    ...(process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}),
  });
  for (const stream of [worker.stdout, worker.stderr]) stream.on("data", (data) => (out += data));
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  try {
    await until("it works", async () => out.includes("Ctrl-C stops it"));
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
    const storage = connectStorage({ connectionString: azurite.connectionString });
    const client = {
      storage,
      names: namesOf("leasefold"),
      clock,
      random,
      calculations: await loadCalculations([], builtIn),
    };
    await submit(client, { calculation: "primes", params: { to: 1_000 }, id: "q" });
    await until("it has ended", async () => (await status(client, "q")).phase === "complete", {});
    const parts: Uint8Array[] = [];
    for await (const part of (await openResult(client, await findManifest(client, "q"))).body)
      parts.push(part);
    expect(Buffer.concat(parts).toString()).toContain("168");
  } finally {
    worker.kill("SIGTERM");
  }
  expect(await ended).toBe(143);
});
