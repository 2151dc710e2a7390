import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";

/** The examples as a reader would run them: the built package by its name, a real Azurite, a process each. */
let azurite: Azurite;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.stop();
});

const root = join(import.meta.dirname, "../..");

function start(file: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [join(root, "examples", file), ...args], {
    env: { ...process.env, DataStorage: azurite.connectionString },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (more) => (text += String(more)));
  const ended = once(child, "exit").then(([code]) => ({ code: code as number | null, text }));
  const says = async (words: string): Promise<void> => {
    while (!text.includes(words)) {
      if (child.exitCode !== null) throw new Error(`${file} ended without "${words}": ${text}`);
      await once(child.stdout, "data");
    }
  };
  return { child, ended, says, text: () => text };
}

test("lead: a second process waits, and counts on from where the first was told to stop", async () => {
  const first = start("lead.mjs");
  await first.says("\n3 (");
  const second = start("lead.mjs", "40");
  first.child.kill("SIGTERM");
  expect(await first.ended).toMatchObject({ code: 0, text: expect.stringContaining("stopped: stopped") });
  const reached = Number(/(\d+) \(\d+ s confirmed\)\nstopped/.exec(first.text())?.[1]);
  const { code, text } = await second.ended;
  expect(text).toContain("leads in term 2");
  expect(text).toContain(`\n${reached + 1} (`);
  expect(text).toContain("done at 40");
  expect(code).toBe(0);
});

test("observe: each term is told, with its holder", async () => {
  const { code, text } = await start("observe.mjs", "example-count", "1").ended;
  expect(text).toMatch(/^term 2: \S+ led since \d{4}-/);
  expect(code).toBe(0);
});

test("leases: two processes share out the partitions, and the next one gets what they gave back", async () => {
  const first = start("leases.mjs", "3");
  await first.says("holds 10 of 10");
  expect((await start("leases.mjs", "0").ended).text).toContain("holds 0 of 10");
  expect(await first.ended).toMatchObject({ code: 0 });
  expect((await start("leases.mjs", "0").ended).text).toContain("holds partition 9, visit 2\nholds 10 of 10");
});
