import { AsyncLocalStorage } from "node:async_hooks";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { resourceLimits } from "node:worker_threads";
import { threadSpareMb } from "../../engine/calculation/attempt.ts";
import { killGroup, tellChild } from "../../engine/calculation/childProcesses.ts";
import type { FileFact, Files } from "../../engine/calculation/files.ts";
import { messageOf } from "../../engine/model/errors.ts";
import { encodeMessage, type Message, messageReader } from "./messages.ts";

/** How a process is started. */
export interface Start {
  readonly command: readonly [string, ...string[]];
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Throws if the process would run other code than this thread's calculation has. */
  unchanged(): void;
}

export interface Call {
  readonly name: string;
  readonly said: object;
  readonly frames?: readonly Uint8Array[];
  readonly files?: Files;
}

/** Time in which a process whose input has ended ends by itself. */
const endMs = 1_000;
const measureEveryMs = 100;
/** Lines of its standard error that an error repeats. */
const lastLines = 3;

/**
 * One process for the calls of this thread, one after the other: started by the first, and again by the next one after it has
 * ended. A call fails with a reason if the process ends, is killed, writes what is no answer, or takes more memory than a thread may.
 *
 * Not promised: that a call ends. At the time limit the owner of this thread kills the process. Memory is measured on Linux alone,
 * ten times a second, without that of further processes that it starts.
 */
export function commandProcess(start: Start) {
  let running: Running | undefined;
  let before: Promise<unknown> = Promise.resolve();
  let id = 0;

  async function answerTo({ name, said, frames = [], files }: Call): Promise<Message> {
    // A thread that waits for tasks hears of nothing: whether the process has ended since, it learns now.
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    if (running?.ended() !== false) running = undefined;
    running ??= startProcess(start);
    const child = running;
    const release = child.use();
    try {
      await child.greeting();
      id += 1;
      child.write({ id, call: name, ...said }, frames);
      for (;;) {
        const answer = await child.next();
        if ("ask" in answer.said) child.write(...(await reply(answer.said, files)));
        else if (answer.said["id"] === id) return answer;
        else throw new Error("it gave an answer that nobody asked for");
      }
    } catch (error) {
      const why = await child.kill(messageOf(error));
      throw new Error(`the process of ${start.command.join(" ")} failed: ${why}`, { cause: error });
    } finally {
      // What it printed before its answer is read by then, and belongs to this call.
      await nextTurn();
      release();
    }
  }

  return {
    /** Throws what the process says of an error, or why there is no answer. */
    async call(call: Call): Promise<Message> {
      const turn = before.then(() => answerTo(call));
      before = turn.catch(() => {});
      const answer = await turn;
      const { error, at } = answer.said;
      if (error === undefined) return answer;
      throw new Error(`${String(error).slice(0, 2_000)}${at ? ` (${String(at)})` : ""}`);
    },
    /** Whether the process has this function, after a call. */
    has: (name: string): boolean => running?.calls().includes(name) ?? false,
    /** Ends the process, after the calls so far. */
    async end(): Promise<void> {
      await before;
      await running?.end();
      running = undefined;
    },
  };
}

type Running = ReturnType<typeof startProcess>;

function startProcess({ command: [file, ...args], folder, env, unchanged }: Start) {
  unchanged();
  const child = spawn(file, args, { cwd: folder, env, stdio: "pipe", detached: true });
  const { pid } = child;
  const kill = (): void => void (pid !== undefined && killGroup(pid));
  const printed: string[] = [];
  let print: (line: string) => void = console.error;
  let excess: string | undefined;
  let over = false;
  const ended = new Promise<string>((resolve) => {
    child.on("error", (error) => resolve(`it did not start: ${error.message}, in ${folder}`));
    child.on("exit", (code, signal) => resolve(`it ended ${signal ? `by ${signal}` : `with code ${code}`}`));
  }).finally(() => {
    over = true;
    process.removeListener("exit", kill);
    if (pid !== undefined) tellChild(pid, true);
  });
  if (pid !== undefined) tellChild(pid, false);
  process.on("exit", kill);
  // Who waits for an answer hears why there is none.
  child.stdin.on("error", () => {});
  let begun = "";
  const take = (text: string): void => {
    // A carriage return alone ends a line too, as of a progress bar; what follows one at the end is not known yet.
    const lines = (begun + text).split(/\r?\n|\r(?!\n|$)/);
    begun = lines.pop() ?? "";
    for (const line of lines) {
      printed.push(line);
      if (printed.length > lastLines) printed.shift();
      print(line);
    }
  };
  const endLine = (): void => void (begun !== "" && take("\n"));
  child.stderr.setEncoding("utf8").on("data", take);
  const messages = messagesOf(child);
  let greeting: Promise<readonly unknown[]> | undefined;
  let calls: readonly unknown[] = [];

  const next = async (): Promise<Message> => {
    const { done, value } = await messages.next();
    if (done !== true) return value;
    await Promise.race([ended, sleep(endMs)]);
    kill();
    throw new Error(await ended);
  };
  const greet = async (): Promise<readonly unknown[]> => {
    const { said } = await next();
    if (said["leasefold"] !== 1 || !Array.isArray(said["calls"]))
      throw new Error("it does not greet as version 1");
    // A script that was replaced while it was read.
    unchanged();
    return said["calls"];
  };
  const end = async (): Promise<void> => {
    child.stdin.end();
    await Promise.race([ended, sleep(endMs)]);
    kill();
    await ended;
  };
  return {
    next,
    end,
    ended: () => over,
    calls: () => calls,
    async greeting(): Promise<void> {
      greeting ??= greet();
      calls = await greeting;
    },
    write: (said: object, frames: readonly Uint8Array[]): void =>
      void child.stdin.write(encodeMessage(said, frames)),
    /** Keeps this thread for the process, prints for the caller, and watches the memory, until the returned function is called. */
    use(): () => void {
      // Lines of an earlier call, which may be of another run, are no part of an error of this one.
      printed.length = 0;
      print = AsyncLocalStorage.bind((line) => console.error(line));
      const unwatch =
        pid === undefined
          ? () => {}
          : watchMemoryOf(pid, (text) => {
              excess = text;
              kill();
            });
      refer(child, "ref");
      return () => {
        endLine();
        unwatch();
        refer(child, "unref");
      };
    },
    /** Kills it, if it still runs, and gives the reason with what it printed last. */
    async kill(why: string): Promise<string> {
      kill();
      await ended;
      endLine();
      return [excess ?? why, ...(printed.length > 0 ? [`it printed: ${printed.join(" | ")}`] : [])]
        .join("; ")
        .slice(0, 2_000);
    },
  };
}

async function* messagesOf({ stdout }: ChildProcessWithoutNullStreams): AsyncGenerator<Message, undefined> {
  const read = messageReader();
  for await (const written of stdout) yield* read(written as Buffer);
  return undefined;
}

/** A process between two calls keeps no program alive. */
function refer(child: ChildProcessWithoutNullStreams, how: "ref" | "unref"): void {
  for (const one of [child, child.stdin, child.stdout, child.stderr]) (one as unknown as Socket)[how]();
}

function watchMemoryOf(pid: number, onExcess: (text: string) => void): () => void {
  const { maxOldGenerationSizeMb: memoryMb } = resourceLimits;
  if (memoryMb === undefined || process.platform !== "linux") return () => {};
  const measure = async (): Promise<void> => {
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    const heldMb = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    if (heldMb > memoryMb + threadSpareMb)
      onExcess(`it needs more than the ${memoryMb} MB of a thread: it has ${heldMb} MB`);
  };
  const timer = setInterval(() => void measure(), measureEveryMs);
  return () => clearInterval(timer);
}

/** Answers a question of the process for files. */
async function reply(question: Message["said"], files: Files | undefined): Promise<[object, Uint8Array[]]> {
  try {
    if (files === undefined) throw new Error("only plan and compute read files");
    if (question["ask"] === "list") {
      const found: FileFact[] = [];
      for await (const file of files.list(String(question["source"]))) found.push(file);
      return [{ files: found }, []];
    }
    const [from, to] = [question["from"], question["to"]].map((one) =>
      typeof one === "number" ? one : undefined,
    );
    const range = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
    const pieces: Uint8Array[] = [];
    for await (const piece of files.read(question["file"] as FileFact, range)) pieces.push(piece.slice());
    return [{}, [Buffer.concat(pieces)]];
  } catch (error) {
    return [{ error: messageOf(error) }, []];
  }
}
