import { AsyncLocalStorage } from "node:async_hooks";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { resourceLimits } from "node:worker_threads";
import { outsideChunks, threadSpareMb } from "../../engine/calculation/attempt.ts";
import { killGroup, tellChild } from "../../engine/calculation/childProcesses.ts";
import type { FileFact, Files } from "../../engine/calculation/files.ts";
import { messageOf } from "../../engine/model/errors.ts";
import { calculationLimits } from "../../engine/model/limits.ts";
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
  /** The index of the chunk that is computed. */
  readonly chunk?: number;
}

/** Time in which a process whose input has ended ends by itself. */
const endMs = 1_000;
const measureEveryMs = 100;
/** Lines of its standard error that an error repeats. */
const lastLines = 3;

/**
 * One process for the calls of this thread: started by the first, and again by the next one after it has ended. It gets one
 * call after the other, or as many at the same time as its greeting allows. A call fails with a reason if the process ends, is
 * killed, writes what is no answer, or takes more memory than a thread may.
 *
 * Not promised: that a call ends. At the time limit the owner of this thread kills the process. Nor, of calls at the same time,
 * that what is printed is told with its chunk, or which of them ended the process: all of them fail, and each of these is then
 * called alone. Memory is measured on Linux alone, ten times a second, without that of further processes that it starts.
 */
export function commandProcess(start: Start) {
  let running: Running | undefined;
  let id = 0;
  const places = placesOf();
  /** Chunks that were computed as a process ended. */
  const suspects = new Set<unknown>();

  async function answerTo({ name, said, frames = [], files, chunk }: Call): Promise<Message> {
    // A thread that waits for tasks hears of nothing: whether the process has ended since, it learns now.
    for (let turn = 0; turn < 2; turn += 1) await nextTurn();
    if (running?.ended() !== false) running = undefined;
    running ??= startProcess(start);
    const child = running;
    const release = child.use();
    try {
      places.widen(await child.greeting());
      id += 1;
      return await child.ask(id, { call: name, ...said }, frames, files);
    } catch (error) {
      if (chunk !== undefined) suspects.add(chunk);
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
      const leave = await places.take(suspects.has(call.chunk));
      const answer = await answerTo(call).finally(leave);
      suspects.delete(call.chunk);
      const { error, at } = answer.said;
      if (error === undefined) return answer;
      throw new Error(`${String(error).slice(0, 2_000)}${at ? ` (${String(at)})` : ""}`);
    },
    /** Whether the process has this function, after a call. */
    has: (name: string): boolean => running?.calls().includes(name) ?? false,
    /** Ends the process, after the calls so far. */
    async end(): Promise<void> {
      const leave = await places.take(true);
      await running?.end();
      running = undefined;
      suspects.clear();
      leave();
    },
  };
}

/** Places for calls at the same time, in their order; whoever takes all waits until nobody has one. */
function placesOf() {
  let [most, taken] = [1, 0];
  const waiting: { readonly all: boolean; readonly go: (leave: () => void) => void }[] = [];
  const admit = (): void => {
    for (let [first] = waiting; first !== undefined; [first] = waiting) {
      if (first.all ? taken > 0 : taken >= most) return;
      waiting.shift();
      const needs = first.all ? most : 1;
      taken += needs;
      first.go(() => {
        taken -= needs;
        admit();
      });
    }
  };
  return {
    take: (all: boolean): Promise<() => void> =>
      new Promise((go) => {
        waiting.push({ all, go });
        admit();
      }),
    widen(to: number): void {
      if (to <= most) return;
      most = to;
      admit();
    },
  };
}

interface Greeting {
  /** Of its functions. */
  readonly names: readonly unknown[];
  readonly concurrency: number;
}

/** A call without an answer. */
interface Open {
  readonly files: Files | undefined;
  readonly resolve: (answer: Message) => void;
  readonly reject: (error: unknown) => void;
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
  let greeting: Promise<Greeting> | undefined;
  let calls: readonly unknown[] = [];
  const open = new Map<unknown, Open>();
  let reads = false;
  let uses = 0;
  let unwatch = (): void => {};

  const next = async (): Promise<Message> => {
    const { done, value } = await messages.next();
    if (done !== true) return value;
    await Promise.race([ended, sleep(endMs)]);
    kill();
    throw new Error(await ended);
  };
  const greet = async (): Promise<Greeting> => {
    const { said } = await next();
    const { calls: names, concurrency = 1 } = said;
    if (said["leasefold"] !== 1 || !Array.isArray(names)) throw new Error("it does not greet as version 1");
    const isNumber = Number.isSafeInteger(concurrency) && (concurrency as number) >= 1;
    if (!isNumber || (concurrency as number) > calculationLimits.concurrencyMax)
      throw new Error(`it greets with concurrency ${String(concurrency).slice(0, 40)}`);
    // A script that was replaced while it was read.
    unchanged();
    return { names, concurrency: concurrency as number };
  };
  const write = (said: object, frames: readonly Uint8Array[]): void =>
    void child.stdin.write(encodeMessage(said, frames));
  /** Reads as long as a call waits for its answer. */
  const readAnswers = async (concurrency: number): Promise<void> => {
    while (open.size > 0) {
      const { said, frames } = await next();
      const isQuestion = "ask" in said;
      const [only] = isQuestion && concurrency === 1 ? open.keys() : [];
      const of = only ?? said["id"];
      const call = open.get(of);
      if (call === undefined) throw new Error("it gave an answer that nobody asked for");
      if (isQuestion)
        void reply(said, call.files).then(([answer, body]) =>
          write(concurrency === 1 ? answer : { id: of, ...answer }, body),
        );
      else {
        open.delete(of);
        call.resolve({ said, frames });
      }
    }
    // At once: a call that comes now begins to read again.
    reads = false;
  };
  const read = async (concurrency: number): Promise<void> => {
    if (reads) return;
    reads = true;
    try {
      await readAnswers(concurrency);
    } catch (error) {
      for (const call of open.values()) call.reject(error);
      open.clear();
      reads = false;
    }
  };
  const end = async (): Promise<void> => {
    child.stdin.end();
    await Promise.race([ended, sleep(endMs)]);
    kill();
    await ended;
  };
  const stopUse = (): void => {
    uses -= 1;
    if (uses > 0) return;
    endLine();
    unwatch();
    refer(child, "unref");
  };
  return {
    end,
    ended: () => over,
    calls: () => calls,
    /** How many calls it takes at the same time. */
    async greeting(): Promise<number> {
      greeting ??= greet();
      const { names, concurrency } = await greeting;
      calls = names;
      return concurrency;
    },
    /** The answer to a call, after the greeting. */
    async ask(
      id: number,
      said: object,
      frames: readonly Uint8Array[],
      files: Files | undefined,
    ): Promise<Message> {
      const { promise, resolve, reject } = Promise.withResolvers<Message>();
      open.set(id, { files, resolve, reject });
      write({ id, ...said }, frames);
      void read((await greeting)?.concurrency ?? 1);
      return promise;
    },
    /** Keeps this thread for the process, prints for its callers, and watches the memory, until the returned function is called. */
    use(): () => void {
      uses += 1;
      // Nobody knows whose lines these are once two are at work.
      if (uses > 1) {
        print = outsideChunks(() => AsyncLocalStorage.bind((line: string) => console.error(line)));
        return stopUse;
      }
      // Lines of an earlier call, which may be of another run, are no part of an error of this one.
      printed.length = 0;
      print = AsyncLocalStorage.bind((line) => console.error(line));
      unwatch =
        pid === undefined
          ? () => {}
          : watchMemoryOf(pid, (text) => {
              excess = text;
              kill();
            });
      refer(child, "ref");
      return stopUse;
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
