import { performance } from "node:perf_hooks";
import { pathToFileURL } from "node:url";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { loadCalculations } from "../../../src/calculations/registry.ts";
import { firstJsonLoss } from "../../../src/engine/calculation/encodePart.ts";
import { filesOver } from "../../../src/engine/calculation/files.ts";
import { filesBehind } from "../../../src/engine/calculation/moduleGraph.ts";
import { ConfigError, InputError, LeasefoldError, messageOf } from "../../../src/engine/model/errors.ts";
import { systemClock } from "../../../src/engine/storage/system.ts";
import { limitConsole, printingOf } from "../../../src/engine/worker/threads/printing.ts";
import { threadPort } from "../../../src/engine/worker/threads/threadTask.ts";
import { builtIn } from "../../sql/builtIn.ts";
import { readFreeOptions, withSource } from "../freeOptions.ts";
import { type Checked, checkLaws } from "./laws/checkLaws.ts";
import type { Finding } from "./laws/findings.ts";
import { calls } from "./laws/subject.ts";
import { powerAdvice, watchCalls } from "./watchCalls.ts";

export interface LawsOrder {
  /** The user's files, absolute. */
  readonly files: readonly string[];
  /** Undefined for the calculation of the last file. */
  readonly name: string | undefined;
  /** The parameters on the command line, as `readFreeOptions` takes them. */
  readonly tokens: readonly string[];
  readonly pairs: readonly string[];
  readonly own: readonly string[];
  /** That of `--folder`. */
  readonly source?: string | undefined;
  /** Chunks to check the laws on, at most. */
  readonly chunks: number | undefined;
}

export interface CheckThreadData extends LawsOrder {
  readonly packLimitMs: number;
  /** Three integers: calls of user code so far, and the function and the chunk of the last one. */
  readonly calls: Int32Array;
  readonly port: MessagePort;
}

/** `result` is that of the first `chunks` of `count` chunks; absent if a law is broken. */
export type LawsTried = Omit<Checked, "findings"> & Pick<Loaded, "params">;

/** `params` as the command line gives them. */
export interface Loaded {
  readonly calculation: string;
  readonly params: unknown;
}

export type FromCheckThread =
  | ({ readonly say: "loaded" } & Loaded)
  | { readonly say: "found"; readonly finding: Finding }
  | { readonly say: "tried"; readonly tried: LawsTried }
  /** An error loses its class between threads. */
  | {
      readonly say: "failed";
      readonly kind: "input" | "setting" | "bug";
      readonly code: string;
      readonly message: string;
      readonly details: Record<string, unknown>;
    };

/**
 * The entry of the thread that tries the laws. Only this thread loads the user's file, so that code which never ends
 * can be terminated. It counts the calls of user code in shared memory, as it cannot send messages while blocked.
 */
const data = workerData as CheckThreadData;
const say = (message: FromCheckThread): void => parentPort?.postMessage(message);

/**
 * Each resolves once the process has all that was printed, because what still waits in a thread is lost when that is terminated.
 * Made before the user's file loads, which may replace `write`.
 */
const flush = [process.stdout, process.stderr].map((stream) => {
  const write = stream.write.bind(stream);
  return () => new Promise<void>((done) => void (stream.writable ? write("", () => done()) : done()));
});

async function main(): Promise<void> {
  // Before the user's file loads, which may keep a function for later.
  const watched = watchCalls();
  // As in a worker: a flood that waits for the process would be taken for memory of the calculation.
  limitConsole(printingOf(() => {}));
  let clock = false;
  const known = await loadCalculations(data.files, builtIn);
  const calculation = data.name === undefined ? known.list().at(-1) : known.get(data.name);
  if (calculation === undefined) throw new Error("the registry is empty");
  const rows = known.describeParams(calculation);
  const given = readFreeOptions(data.tokens, data.pairs, rows, data.own);
  const raw =
    data.source === undefined
      ? given
      : withSource("folder", { name: calculation.name, params: rows }, given, data.source);
  const parsed = known.parseParams(calculation, raw);
  say({ say: "loaded", calculation: calculation.name, params: raw });
  const { access } = threadPort(data.port);
  /** Each answered request counts as well: a plan that reads for long has not blocked. */
  const countCall = (): void => void Atomics.add(data.calls, 0, 1);
  const { findings: _findings, ...checked } = await checkLaws(calculation, parsed, {
    ...(data.chunks === undefined ? {} : { chunks: data.chunks }),
    packLimitMs: data.packLimitMs,
    files: filesOver({
      list: (source, cursor) => access.list(source, cursor).finally(countCall),
      read: (file, from, to) => access.read(file, from, to).finally(countCall),
    }),
    clock: { ...systemClock, idleMs: () => performance.eventLoopUtilization().idle },
    onCall(call, index) {
      watched.from(call);
      Atomics.store(data.calls, 1, calls.indexOf(call));
      Atomics.store(data.calls, 2, index);
      countCall();
    },
    onFinding(finding) {
      clock ||= finding.outcome === "broken";
      say({ say: "found", finding });
    },
  });
  const file = data.name === undefined ? data.files.at(-1) : undefined;
  const texts = file === undefined ? [] : filesBehind(pathToFileURL(file).href);
  for (const finding of [...watched.advice({ clock }), ...powerAdvice(texts)]) say({ say: "found", finding });
  // Parameters that JSON does not keep break a law; they are shown as they were given.
  const params = firstJsonLoss(parsed) === undefined ? parsed : raw;
  await Promise.all(flush.map((one) => one()));
  say({ say: "tried", tried: { ...checked, params } });
}

main()
  .catch((error: unknown) => {
    const kind = error instanceof InputError ? "input" : error instanceof ConfigError ? "setting" : "bug";
    const { code, details } = error instanceof LeasefoldError ? error : { code: "internal", details: {} };
    say({ say: "failed", kind, code, message: messageOf(error), details });
  })
  // An open port would keep the thread alive.
  .finally(() => data.port.close());
