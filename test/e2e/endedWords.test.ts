import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connectStorage } from "../../src/azure/connectStorage.ts";
import { endedRunSchema } from "../../src/engine/model/endedRun.ts";
import { builtProgram, until } from "../support/builtProgram.ts";

/** The program of the examples that takes webhooks, and a queue, hear of the runs of real instances. */
const settings: Record<string, string> = {
  LEASEFOLD_ENDED_QUEUE: "told",
  LEASEFOLD_WEBHOOK_SECRET: `whsec_${randomBytes(24).toString("base64")}`,
  LEASEFOLD_WEBHOOK_ALLOW: "http,private",
};
const { leasefold, startUp, down } = builtProgram(settings);
let heard = "";
let receiver: ReturnType<typeof spawn> | undefined;

/** Free now: the receiver comes back to it. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { readonly port: number };
  server.close();
  await once(server, "close");
  return port;
}

async function receive(port: number): Promise<void> {
  const program = join(import.meta.dirname, "../../examples/http/ended.ts");
  const env = { ...process.env, ...settings, PORT: String(port) };
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "pipe"] });
  receiver = child;
  child.stdout.on("data", (data) => (heard += data));
  await once(child.stderr, "data");
}

let port: number;
beforeAll(async () => {
  port = await freePort();
  settings["LEASEFOLD_WEBHOOKS"] = `http://127.0.0.1:${port}/ended`;
});
afterAll(() => void receiver?.kill());

test("a webhook and a queue tell of each run that ends, also where nobody listens at first", async () => {
  const { local } = await startUp("--instances", "2");
  const good = await leasefold(
    "submit",
    "primes",
    "--to",
    "1e6",
    "--id",
    "good",
    "--wait",
    "--tag",
    "team=risk",
  );
  expect(good).toMatchObject({ code: 0 });
  await receive(port);
  const bad = ["--query", "select 1", "--source", "inputs/none", "--attempts", "1"];
  expect((await leasefold("submit", "sql", "--id", "bad", "--wait", ...bad)).code).not.toBe(0);
  await until("both are heard", async () => heard.split("\n").length > 2);
  expect(heard.trim().split("\n").sort()).toEqual([expect.stringMatching(/^bad failed: ./), "good complete"]);
  const { queues } = connectStorage({ connectionString: local.connectionString });
  const words = (await queues.peek("told", 32)).map(({ text }) => endedRunSchema.parse(JSON.parse(text)));
  expect(words.map(({ data }) => [data.run, data.outcome, data.tags]).sort()).toEqual([
    ["bad", "failed", undefined],
    ["good", "complete", { team: "risk" }],
  ]);
  await down();
});
