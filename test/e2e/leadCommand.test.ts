import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Azurite, startAzurite } from "../../packages/cli/local/azurite.ts";

/** `leasefold lead` with real processes and real signals, on a real Azurite. */
let azurite: Azurite;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(async () => {
  await azurite?.stop();
});

const bin = join(import.meta.dirname, "../../bin/leasefold.js");

function leasefold(...args: readonly string[]) {
  const child = spawn(process.execPath, [bin, "--connection", azurite.connectionString, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  let onText = (): void => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (more) => {
      text += String(more);
      onText();
    });
  }
  return {
    child,
    text: () => text,
    code: once(child, "exit").then(([code]) => code as number | null),
    says: async (words: string): Promise<void> => {
      while (!text.includes(words)) {
        await new Promise<void>((resolve) => {
          onText = resolve;
        });
      }
    },
  };
}

const job = (source: string) => ["--", process.execPath, "-e", source];
const forever = "console.log('at work in term ' + process.env.LEASEFOLD_TERM); setInterval(() => {}, 1000);";

test("the command's exit code is passed on, also where it cannot be started", async () => {
  const five = leasefold(
    "lead",
    "--name",
    "codes",
    ...job("process.exit(Number(process.env.LEASEFOLD_TERM) + 4)"),
  );
  expect(await five.code).toBe(5);
  expect(await leasefold("lead", "--name", "codes", "--", "no-such-program-here").code).toBe(127);
});

test("of two one runs the command; the other ends with 75, or waits for its turn", async () => {
  const first = leasefold("lead", "--name", "turns", ...job(forever));
  await first.says("at work in term 1");
  const second = leasefold("lead", "--name", "turns", ...job(forever));
  expect(await second.code).toBe(75);
  expect(second.text()).toContain('in term 1 leads "turns"; the command was not run');
  const third = leasefold("lead", "--name", "turns", "--wait", ...job("console.log('my turn')"));
  await third.says("waiting: ");
  first.child.kill("SIGTERM");
  expect(await first.code).toBe(128 + 15);
  expect(await third.code).toBe(0);
  expect(third.text()).toContain("my turn");
});

test("a signal is passed on, and the command may end in its own way", async () => {
  const trap = `process.on("SIGTERM", () => process.exit(9)); ${forever}`;
  const one = leasefold("lead", "--name", "signals", ...job(trap));
  await one.says("at work");
  one.child.kill("SIGTERM");
  expect(await one.code).toBe(9);
});

test("a leader that is deposed stops its command, and says so with 76", async () => {
  const stubborn = `process.on("SIGTERM", () => {}); ${forever}`;
  const one = leasefold("lead", "--name", "deposed", ...job(stubborn));
  await one.says("at work");
  expect(await leasefold("leader", "break", "--name", "deposed").code).toBe(2);
  const broken = leasefold("leader", "break", "--name", "deposed", "--yes");
  expect(await broken.code).toBe(0);
  expect(broken.text()).toContain("is deposed in term 1");
  expect(await one.code).toBe(76);
  expect(one.text()).toContain("the lease was lost in term 1 (lost)");
});

test("leader --watch tells each change on a line of its own", async () => {
  const watch = leasefold("leader", "--watch", "--name", "watched");
  await watch.says("nobody has ever led here");
  expect(await leasefold("lead", "--name", "watched", ...job("setTimeout(() => {}, 2500)")).code).toBe(0);
  await watch.says("nobody leads; the last was ");
  expect(watch.text()).toContain("leads in term 1");
  watch.child.kill("SIGINT");
  expect(await watch.code).toBe(130);
});
