import { threadPool } from "../../../src/app/threadPool.ts";
import { countOf } from "../../../src/engine/model/figures.ts";
import { readSettings } from "../../../src/engine/model/settings.ts";
import { systemRandom as random } from "../../../src/engine/storage/system.ts";
import { threadEntry } from "../../sql/app/threadEntry.ts";
import type { Cli, Session } from "../cli.ts";
import { type CheckRow, rowOf } from "./checkRows.ts";
import type { LawsTried } from "./checkThread.ts";
import { type Breach, broken, sidesOf } from "./laws/findings.ts";
import { type CheckRequest, lawsInThread, type ThreadEnd, type ThreadSetup } from "./lawsInThread.ts";
import { type MemoryRunEnd, memoryRun } from "./memoryRun.ts";

export type CheckReport = Awaited<ReturnType<typeof runCheck>>;

/** Two threads compute neighbors at once, each with its own copy of the module. */
const threads = 2;

/** Tries every law in a thread, then runs the same chunks through the engine. Calls `onRow` as soon as a row is known. */
export async function runCheck(
  session: Session,
  { access, ...request }: CheckRequest & Pick<ThreadSetup, "access">,
  onRow: (row: CheckRow) => void,
) {
  const { cli } = session;
  const settings = readSettings(cli.env);
  const setup = {
    access,
    memoryMb: settings.LEASEFOLD_THREAD_MEMORY_MB,
    packLimitMs: settings.LEASEFOLD_PACK_LIMIT_S * 1000,
  };
  const rows: CheckRow[] = [];
  const add = (row: CheckRow): void => {
    rows.push(row);
    onRow(row);
  };
  const onFinding = (finding: Parameters<typeof rowOf>[0]): void => add(rowOf(finding));
  const { calculation, params, ended } = await lawsInThread(cli, request, setup, onFinding);
  if ("why" in ended) add(endRow(ended));
  else add(await engineRow(cli, calculation, ended, { ...setup, ...request }));
  const known = "why" in ended ? { params, count: 0, chunks: 0, threw: 0, chunkMs: undefined } : ended;
  return {
    calculation,
    params: known.params,
    count: known.count,
    chunks: known.chunks,
    threw: known.threw,
    chunkMs: known.chunkMs,
    broken: rows.filter(({ outcome }) => outcome === "broken").length,
    laws: rows,
  };
}

async function engineRow(
  { clock, signal }: Cli,
  calculation: string,
  tried: LawsTried,
  { files, access, memoryMb, limitMs, ...setup }: ThreadSetup & CheckRequest,
): Promise<CheckRow> {
  const row = { law: "engine", says: "distributed equals serial", text: "" };
  if (tried.result === undefined)
    return { ...row, outcome: "unchecked", text: "not tried; needs every law above" };
  // A pack has few chunks here; a call that ends only in the other thread must not take minutes.
  const packLimitMs = Math.min(setup.packLimitMs, 2 * limitMs);
  const startedMs = clock.monotonicMs();
  const code = threadPool(
    { threads, memoryMb, files, access, onIdleCrash: () => {}, printToError: true },
    threadEntry,
  );
  const { params, chunks, threw } = tried;
  const ended = await memoryRun({
    calculation,
    params,
    chunks,
    threw,
    code,
    clock,
    random,
    packLimitMs,
    signal,
  }).finally(() => code.stop());
  const verdict = engineVerdict(tried.result.body, tried, ended);
  const ms = clock.monotonicMs() - startedMs;
  return typeof verdict === "string"
    ? { ...row, outcome: "holds", text: verdict, ms }
    : { ...row, outcome: "broken", ms, ...verdict };
}

function engineVerdict(
  serial: Uint8Array,
  { chunks, threw }: LawsTried,
  ended: MemoryRunEnd,
): string | { readonly breach: Breach } {
  if (ended.kind === "failed") {
    return broken(
      `the run failed on ${threads} threads: ${ended.message}`,
      "it works only where all chunks are computed in one thread, or needs more time or memory there",
      "keep nothing outside the functions, and nothing of this machine's in inputs and partials",
    );
  }
  const computed = threw === 0 ? "" : `${chunks - threw} of `;
  const what = `${computed}${countOf(chunks, "chunk")} in ${countOf(ended.packs, "pack")} on ${countOf(threads, "thread")}`;
  if (Buffer.compare(serial, ended.body) === 0) return what;
  return broken(
    `${what} give another result than in one`,
    "something outside the functions differs between threads, such as a cache or a counter",
    "keep nothing between calls, or only what is the same in every thread",
    sidesOf("serial", serial, "distributed", ended.body),
  );
}

const causes: Readonly<Record<ThreadEnd["why"], { readonly likely: string; readonly cure: string }>> = {
  time: {
    likely: "a loop that never ends, or a chunk that is far too large",
    cure: "make smaller chunks; --limit gives each call longer",
  },
  memory: {
    likely: "a partial or an input that grows without end",
    cure: "make smaller chunks, or raise LEASEFOLD_THREAD_MEMORY_MB",
  },
  exit: {
    likely: "process.exit, or an error outside any promise",
    cure: "throw an error instead; it fails only its own pack",
  },
  crash: {
    likely: "an error in a callback, or a promise that nothing awaits",
    cure: "await everything that compute starts",
  },
};

const endRow = ({ doing, why, message }: ThreadEnd): CheckRow => ({
  law: "calls",
  says: "every call comes back",
  outcome: "broken",
  text: "",
  breach: { example: `${doing} ${message}`, ...causes[why] },
});
