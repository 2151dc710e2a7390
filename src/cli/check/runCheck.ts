import { type Breach, broken, reasonOf, sidesOf } from "../../calculations/laws/findings.ts";
import { readSettings } from "../../model/settings.ts";
import { systemRandom } from "../../storage/system.ts";
import { threadPool } from "../../worker/threads/threadPool.ts";
import type { Session } from "../cli.ts";
import { clientFiles } from "../clientFiles.ts";
import { readFreeOptions } from "../freeOptions.ts";
import type { LawsTried } from "./checkMessages.ts";
import { type CheckRow, rowOf } from "./checkRows.ts";
import { startCheck, type ThreadEnd } from "./startCheck.ts";
import { twinRun } from "./twinRun.ts";

export interface CheckRequest {
  /** The user's files, absolute; without a name the last one is checked. */
  readonly files: readonly string[];
  readonly name: string | undefined;
  readonly tokens: readonly string[];
  readonly pairs: readonly string[];
  readonly chunks: number | undefined;
  readonly runs: number | undefined;
  readonly seed: number;
  /** The longest that one call of user code may take. */
  readonly limitMs: number;
}

export interface CheckReport {
  readonly calculation: string;
  readonly params: unknown;
  readonly count: number;
  readonly chunks: number;
  readonly chunkMs: number | undefined;
  readonly seed: number;
  readonly broken: number;
  readonly laws: readonly CheckRow[];
}

/** Two threads, so that neighbours are computed beside each other and by another copy of the module. */
const threads = 2;
const engineSays = "distributed equals serial";

/** Tries every law in a thread, then runs the same chunks through the engine. Each row is told as soon as it is known. */
export async function runCheck(
  session: Session,
  request: CheckRequest,
  onRow: (row: CheckRow) => void,
): Promise<CheckReport> {
  const { cli } = session;
  const settings = readSettings(cli.env);
  const access = clientFiles(() => session.client(), cli.env);
  const { files, seed, limitMs } = request;
  const [memoryMb, packLimitMs] = [
    settings.LEASEFOLD_THREAD_MEMORY_MB,
    settings.LEASEFOLD_PACK_LIMIT_S * 1000,
  ];
  const thread = startCheck({
    ...{ files, name: request.name, access, clock: cli.clock, memoryMb, packLimitMs, limitMs },
    onPrinted: (text) => void cli.err.write(text),
  });
  const stop = (): void => void thread.stop();
  cli.signal.addEventListener("abort", stop, { once: true });
  const rows: CheckRow[] = [];
  const tell = (row: CheckRow): void => {
    rows.push(row);
    onRow(row);
  };
  try {
    const { name, params } = await thread.loaded;
    const raw = readFreeOptions(request.tokens, request.pairs, params);
    const { chunks, runs } = request;
    const order = {
      raw,
      seed,
      ...(chunks === undefined ? {} : { chunks }),
      ...(runs === undefined ? {} : { runs }),
    };
    const tried = await thread.order(order, (finding) => tell(rowOf(finding)));
    if ("why" in tried) tell(endRow(tried));
    else if (tried.result !== undefined) {
      const code = threadPool({
        threads,
        memoryMb,
        files,
        access,
        onIdleCrash: () => {},
        printToError: true,
      });
      try {
        tell(await engineRow(cli, { name, tried, code, packLimitMs, limitMs }));
      } finally {
        await code.stop();
      }
    } else {
      tell({
        law: "engine",
        says: engineSays,
        outcome: "unchecked",
        text: "not tried; needs every law above",
      });
    }
    const known = "why" in tried ? { count: 0, chunks: 0, chunkMs: undefined, params: raw } : tried;
    return {
      calculation: name,
      params: known.params,
      count: known.count,
      chunks: known.chunks,
      chunkMs: known.chunkMs,
      seed,
      broken: rows.filter(({ outcome }) => outcome === "broken").length,
      laws: rows,
    };
  } finally {
    cli.signal.removeEventListener("abort", stop);
    await thread.stop();
  }
}

async function engineRow(
  { clock, signal }: Session["cli"],
  run: {
    readonly name: string;
    readonly tried: LawsTried;
    readonly code: ReturnType<typeof threadPool>;
    readonly packLimitMs: number;
    readonly limitMs: number;
  },
): Promise<CheckRow> {
  const { name: calculation, tried, code } = run;
  // A pack has few chunks here; one that ends only in this thread must not hold the check for minutes.
  const packLimitMs = Math.min(run.packLimitMs, 2 * run.limitMs);
  const startedMs = clock.monotonicMs();
  const random = systemRandom;
  const ended = await twinRun({
    ...{ calculation, params: tried.params, chunks: tried.chunks, code, clock, random, packLimitMs, signal },
  });
  const verdict = engineVerdict(tried, ended);
  const ms = clock.monotonicMs() - startedMs;
  const row = { law: "engine", says: engineSays, ms } as const;
  if ("tried" in verdict) return { ...row, outcome: "holds", text: verdict.tried };
  return { ...row, outcome: "broken", text: "", ...verdict };
}

function engineVerdict(
  { result, chunks }: LawsTried,
  ended: Awaited<ReturnType<typeof twinRun>>,
): { readonly tried: string } | { readonly breach: Breach } {
  if (ended.kind === "failed") {
    return broken(
      `the run failed on ${threads} threads: ${ended.message}`,
      "it works only where all chunks are computed in one thread, or needs more time or memory there",
      "keep nothing outside the functions, and nothing of this machine's in inputs and partials",
    );
  }
  const serial = result?.body ?? new Uint8Array();
  if (Buffer.compare(serial, ended.body) === 0)
    return { tried: `${chunks} chunks in ${ended.packs} packs on ${threads} threads` };
  const reason = reasonOf(serial, ended.body);
  return broken(
    `${chunks} chunks in ${ended.packs} packs on ${threads} threads give another result than in one`,
    reason?.likely ?? "something outside the functions differs between threads, such as a cache or a counter",
    reason?.cure ?? "keep nothing between calls, or only what is the same in every thread",
    sidesOf("serial", serial, "distributed", ended.body),
  );
}

/** The thread is gone: whatever law was tried, it is the call that is told. */
function endRow({ law, doing, why, message }: ThreadEnd): CheckRow {
  const [likely, cure] = {
    time: [
      "a loop that never ends, or a chunk that is far too large",
      "make smaller chunks; --limit gives each call longer",
    ],
    memory: [
      "a partial or an input that grows without end",
      "make smaller chunks, or raise LEASEFOLD_THREAD_MEMORY_MB",
    ],
    exit: [
      "process.exit, or an error outside any promise",
      "throw an error instead; it fails only its own pack",
    ],
    crash: ["an error in a callback, outside any promise", "await everything that compute starts"],
  }[why] as [string, string];
  const example = `${doing} ${message}`;
  return {
    law: law ?? "load",
    says: "every call comes back",
    outcome: "broken",
    text: "",
    breach: { example, likely, cure },
  };
}
