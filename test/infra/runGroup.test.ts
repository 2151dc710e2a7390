import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";

const module = join(import.meta.dirname, "../../scripts/runGroup.mjs");
/** Prints its process id, starts a program that prints its own and never ends, and waits for it. */
const program = `echo $$; sh -c 'echo $$; exec sleep 1000' & wait`;
const runner = `
import { runGroup } from ${JSON.stringify(module)};
console.log(process.pid);
process.exit(await runGroup("sh", ["-c", ${JSON.stringify(program)}], {}));`;

/** Starts that, and returns the ids of the runner, the program and what the program started. */
async function start(command: string, args: readonly string[]) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const pids: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    pids.push(Number(line));
    if (pids.length === 3) break;
  }
  return { child, pids };
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const ended = (pids: readonly number[]) => expect.poll(() => pids.filter(lives)).toEqual([]);
const codeOf = (child: ChildProcess) =>
  new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));

describe.skipIf(process.platform === "win32")("what npm start runs", () => {
  const node = ["--input-type=module", "--eval", runner];

  test.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("ends with all that it started at %s", async (signal, code) => {
    const { child, pids } = await start(process.execPath, node);
    const exited = codeOf(child);
    child.kill(signal);
    expect(await exited).toBe(code);
    await ended(pids);
  });

  test("ends with all that it started when whoever started it is gone", async () => {
    const { child, pids } = await start("sh", ["-c", '"$@"; :', "sh", process.execPath, ...node]);
    child.kill("SIGKILL");
    await ended(pids);
  });
});
