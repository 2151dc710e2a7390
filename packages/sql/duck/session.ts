import { rmSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type {
  DuckDBConnection,
  DuckDBInstance,
  DuckDBPreparedStatement,
  DuckDBType,
  DuckDBValue,
} from "@duckdb/node-api";
import { attemptTime } from "../../../src/engine/calculation/attempt.ts";
import { CalculationError, messageOf } from "../../../src/engine/model/errors.ts";
import { toldOfRows, toldOfText } from "./toldErrors.ts";

/**
 * DuckDB in the thread of the caller: in memory, with one core, no network, no extensions, and no file outside of one
 * folder. Each use has a connection of its own, so that no table of one is there for the next.
 *
 * Not promised: that one value is bounded. DuckDB makes it in one step, which nothing interrupts, and does not count its
 * memory.
 *
 * One thread and insertion order make every answer a function of the rows, their order and the memory limit alone.
 */

/** When a statement ends early. */
export interface Stop {
  /** The most time of one statement, in ms. */
  readonly timeMs?: number;
  readonly signal?: AbortSignal;
}

/** A row as an object of JSON values: 64-bit and larger whole numbers and decimals are texts. */
export type Row = Readonly<Record<string, unknown>>;

/** Rows by column, with DuckDB's own values. */
interface Columns {
  readonly names: readonly string[];
  readonly types: readonly DuckDBType[];
  readonly columns: readonly (readonly DuckDBValue[])[];
}

export class Session {
  /** The one folder whose files statements may read and write; it is emptied after each use. */
  readonly folder: string;
  readonly #instance: DuckDBInstance;
  #connection: DuckDBConnection;
  #stop: Stop = {};
  #names = 0;

  readonly #removeFolder = (): void => rmSync(this.folder, { recursive: true, force: true });

  private constructor(folder: string, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.folder = folder;
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(): Promise<Session> {
    const { DuckDBInstance } = await loadDuck();
    await removeLeft();
    const folder = await mkdtemp(join(tmpdir(), `${folders}${process.pid}-`));
    const instance = await DuckDBInstance.create(":memory:", {
      threads: "1",
      preserve_insertion_order: "true",
      temp_directory: "",
      memory_limit: `${memoryMb}MiB`,
      max_expression_depth: `${expressionDepthMax}`,
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      // Each local file is read once.
      enable_external_file_cache: "false",
    });
    const session = new Session(folder, instance, await instance.connect());
    process.once("exit", session.#removeFolder);
    // Times and sorted texts must not depend on the machine.
    await session.run("set global timezone = 'UTC'");
    await session.run(`set allowed_directories = [${textLiteral(folder)}]`);
    await session.run("set enable_external_access = false");
    await session.run("set lock_configuration = true");
    return session;
  }

  /** A name for a file of the folder that no other file had: DuckDB keeps contents by name. */
  nextName(): string {
    this.#names += 1;
    return `f${this.#names}`;
  }

  /** Runs one statement of this program, or of a split query. Throws `CalculationError`. */
  async run(sql: string): Promise<void> {
    await this.#guarded(sql, (prepared) => prepared.run());
  }

  /** The rows of a query, all in memory. */
  async rows(sql: string): Promise<Row[]> {
    const reader = await this.#guarded(sql, (prepared) => prepared.runAndReadAll());
    return reader.getRowObjectsJson() as Row[];
  }

  /** The columns of a query, with their types as DuckDB writes them. It runs nothing. */
  async columns(sql: string): Promise<(readonly [name: string, type: string])[]> {
    const rows = await this.rows(`describe ${sql}`);
    return rows.map((row) => [String(row["column_name"]), String(row["column_type"])] as const);
  }

  /** Gives the rows of a query to `take`, some thousand at a time, by column; once without rows if there are none. */
  async chunks(sql: string, take: (chunk: Columns) => void): Promise<void> {
    await this.#guarded(sql, async (prepared) => {
      const result = await prepared.stream();
      const [names, types] = [result.deduplicatedColumnNames(), result.columnTypes()];
      let any = false;
      for await (const chunk of result) {
        if (chunk.rowCount === 0 && any) continue;
        take({ names, types, columns: chunk.getColumns() });
        any = true;
      }
      if (!any) take({ names, types, columns: names.map(() => []) });
    });
  }

  /** Runs `use`, with the limits of `stop` for each of its statements, and empties the folder. */
  async use<T>(use: (session: Session) => Promise<T>, stop: Stop): Promise<T> {
    this.#stop = stop;
    try {
      return await use(this);
    } finally {
      this.#connection.closeSync();
      this.#connection = await this.#instance.connect();
      for (const name of await readdir(this.folder)) await rm(join(this.folder, name), { force: true });
    }
  }

  async close(): Promise<void> {
    this.#connection.closeSync();
    this.#instance.closeSync();
    process.off("exit", this.#removeFolder);
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A thread cannot be ended while DuckDB works in it, so a statement is interrupted before its time is over. */
  async #guarded<T>(sql: string, work: (prepared: DuckDBPreparedStatement) => Promise<T>): Promise<T> {
    const { timeMs, signal } = this.#stop;
    let ended: Ended | undefined;
    let prepared: DuckDBPreparedStatement | undefined;
    const endBy = (why: Ended): void => {
      ended ??= why;
      this.#connection.interrupt();
    };
    const onAbort = (): void => endBy("signal");
    if (signal?.aborted) throw endedBy("signal");
    signal?.addEventListener("abort", onAbort);
    const timer = timeMs === undefined ? undefined : setTimeout(endBy, timeMs, "time");
    const before = process.memoryUsage.rss();
    const watch = setInterval(() => {
      // A statement that waited for a thread of Node's pool when it was interrupted has forgotten it.
      if (ended !== undefined) endBy(ended);
      else if (process.memoryUsage.rss() - before > grownMb * 1024 ** 2) endBy("memory");
    }, watchEveryMs);
    try {
      // A text with several statements cannot be prepared.
      prepared = await this.#connection.prepare(sql);
      return await work(prepared);
    } catch (error) {
      if (ended !== undefined || messageOf(error).startsWith("Out of Memory"))
        throw endedBy(ended ?? "memory", error, timeMs);
      const what = prepared === undefined ? toldOfText : toldOfRows;
      throw new CalculationError("query-failed", `sql: ${what(messageOf(error), sql)}`, { cause: error });
    } finally {
      prepared?.destroySync();
      clearTimeout(timer);
      clearInterval(watch);
      signal?.removeEventListener("abort", onAbort);
    }
  }
}

/** How the folders of this machine begin; the id of the process follows. */
const folders = `leasefold-sql-${hostname()}-`;

/** Removes the folders of processes that were killed. One whose id another process has by now stays. */
async function removeLeft(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    const [, pid] = name.startsWith(folders) ? (/^(\d+)-/.exec(name.slice(folders.length)) ?? []) : [];
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(tmpdir(), name), { recursive: true, force: true }).catch(() => {});
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user is there as well.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

type Ended = "time" | "signal" | "memory";

/**
 * Memory of DuckDB's buffers in one thread. It is the same everywhere, since with less memory DuckDB may add doubles in
 * another order.
 */
const memoryMb = 384;

/** Some states, such as those of a median, are outside of DuckDB's buffers: growth of the whole process ends a statement. */
const grownMb = 2 * memoryMb;
const watchEveryMs = 50;

/** Calls within calls of one expression: the parser recurses, and a thread has 4 MB of stack. */
const expressionDepthMax = 250;

let opened: Promise<Session> | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Gives `use` the session of this thread, which is opened with the first use; one use at a time. After an error the next
 * use opens another, so that nothing is left of what failed. In an attempt, statements end with its time.
 */
export function withSession<T>(use: (session: Session) => Promise<T>, given: Stop = {}): Promise<T> {
  const ending = attemptTime()?.ending;
  const stop = ending === undefined ? given : { signal: ending, ...given };
  const run = last.then(async () => {
    opened ??= Session.open();
    const session = await opened.catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    try {
      return await session.use(use, stop);
    } catch (error) {
      opened = undefined;
      await session.close();
      throw error;
    }
  });
  last = run.catch(() => {});
  return run;
}

/** A text as a literal of SQL. */
export const textLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** A name as an identifier of SQL. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** DuckDB is 70 MB: only a thread that answers a query loads it. An app without it lacks the package that depends on it. */
async function loadDuck(): Promise<typeof import("@duckdb/node-api")> {
  try {
    return await import("@duckdb/node-api").catch(ofSqlPackage);
  } catch (error) {
    if (isMissing(error, sqlPackage))
      throw new CalculationError("no-duckdb", `sql needs DuckDB: npm i ${sqlPackage}`);
    const machine = `${process.platform}-${process.arch}`;
    const message = `sql needs DuckDB, whose binary for ${machine} is not installed: install @duckdb/node-bindings-${machine}`;
    throw new CalculationError("no-duckdb", message, { cause: error });
  }
}

const sqlPackage = "leasefold-sql";

/** A package manager that is strict about dependencies lets only that package find DuckDB. */
async function ofSqlPackage(error: unknown): Promise<typeof import("@duckdb/node-api")> {
  if (!isMissing(error, "@duckdb/node-api")) throw error;
  const found = await import(sqlPackage);
  return found as typeof import("@duckdb/node-api");
}

const isMissing = (error: unknown, name: string): boolean =>
  error instanceof Error &&
  "code" in error &&
  /MODULE_NOT_FOUND$/.test(String(error.code)) &&
  error.message.includes(name);

function endedBy(why: Ended, cause?: unknown, timeMs = 0): CalculationError {
  if (why === "memory") {
    const message = `sql: the query needs more than the ${memoryMb} MB of a thread`;
    return new CalculationError("query-too-large", message, { cause });
  }
  const ofAttempt = attemptTime();
  const limit =
    why === "time"
      ? ` at its time limit of ${timeMs / 1000} s`
      : ofAttempt?.ending.aborted
        ? ` shortly before the time limit of its attempt, ${ofAttempt.limitMs / 1000} s`
        : "";
  return new CalculationError("query-too-long", `sql: the query was ended${limit}`, { cause });
}
