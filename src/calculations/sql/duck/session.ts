import { rmSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { CalculationError, ConfigError, messageOf } from "../../../model/errors.ts";

/**
 * DuckDB in the thread of the caller: in memory, with one core, no network, no extensions, and no file outside of one
 * folder. It does not promise to bound memory that DuckDB takes outside of its buffers, such as for one huge text.
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

export class Session {
  /** The one folder whose files statements may read and write; it is emptied after each use. */
  readonly folder: string;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  #stop: Stop = {};
  #names = 0;

  private constructor(folder: string, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.folder = folder;
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open(): Promise<Session> {
    const { DuckDBInstance } = await loadDuck();
    const folder = await mkdtemp(join(tmpdir(), "leasefold-sql-"));
    process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
    const instance = await DuckDBInstance.create(":memory:", {
      ...{ threads: "1", preserve_insertion_order: "true", temp_directory: "" },
      ...{ memory_limit: `${memoryMb}MiB`, max_expression_depth: `${expressionDepthMax}` },
      ...{ autoinstall_known_extensions: "false", autoload_known_extensions: "false" },
    });
    const session = new Session(folder, instance, await instance.connect());
    // Times and sorted texts must not depend on the machine.
    await session.run("set timezone = 'UTC'");
    await session.run(`set allowed_directories = [${textLiteral(folder)}]`);
    await session.run("set enable_external_access = false; set lock_configuration = true");
    return session;
  }

  /** A name for a file of the folder that no other file had: DuckDB keeps contents by name. */
  nextName(): string {
    this.#names += 1;
    return `f${this.#names}`;
  }

  /** Runs statements of this program, or a query that `readQuery` accepted. Throws `CalculationError`. */
  async run(sql: string): Promise<void> {
    await this.#guarded(() => this.#connection.run(sql));
  }

  /** The rows of a query, all in memory. */
  async rows(sql: string): Promise<Row[]> {
    const reader = await this.#guarded(() => this.#connection.runAndReadAll(sql));
    return reader.getRowObjectsJson() as Row[];
  }

  /** Runs `use`, with the limits of `stop` for each of its statements, and empties the folder. */
  async use<T>(use: (session: Session) => Promise<T>, stop: Stop): Promise<T> {
    this.#stop = stop;
    try {
      return await use(this);
    } finally {
      for (const name of await readdir(this.folder)) await rm(join(this.folder, name), { force: true });
    }
  }

  async close(): Promise<void> {
    this.#connection.closeSync();
    this.#instance.closeSync();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** A thread cannot be ended while DuckDB works in it, so a statement is interrupted before its time is over. */
  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    const { timeMs, signal } = this.#stop;
    const timeout = new AbortController();
    const timer = timeMs === undefined ? undefined : setTimeout(() => timeout.abort(), timeMs);
    const end = AbortSignal.any([...(signal === undefined ? [] : [signal]), timeout.signal]);
    const interrupt = (): void => this.#connection.interrupt();
    end.addEventListener("abort", interrupt);
    try {
      if (end.aborted) throw new Error("it had ended before");
      return await work();
    } catch (error) {
      throw failureOf(error, end.aborted, timeMs);
    } finally {
      clearTimeout(timer);
      end.removeEventListener("abort", interrupt);
    }
  }
}

/**
 * Memory of DuckDB's buffers in one thread. It is the same everywhere, since with less memory DuckDB may add doubles in
 * another order.
 */
const memoryMb = 384;

/** Calls within calls of one expression: the parser recurses, and a thread has 4 MB of stack. */
const expressionDepthMax = 250;

let opened: Promise<Session> | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Gives `use` the session of this thread, which is opened with the first use; one use at a time. After an error the next
 * use opens another, so that nothing is left of what failed.
 */
export function withSession<T>(use: (session: Session) => Promise<T>, stop: Stop = {}): Promise<T> {
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

/** DuckDB is 70 MB: only a thread that answers a query loads it. */
async function loadDuck(): Promise<typeof import("@duckdb/node-api")> {
  try {
    return await import("@duckdb/node-api");
  } catch (error) {
    const machine = `${process.platform}-${process.arch}`;
    const message = `sql needs DuckDB, whose binary for ${machine} is not installed: install @duckdb/node-bindings-${machine}`;
    throw new ConfigError("no-duckdb", message, { cause: error });
  }
}

function failureOf(error: unknown, stopped: boolean, timeMs: number | undefined): CalculationError {
  const text = messageOf(error);
  const what = stopped
    ? `the query was ended${timeMs === undefined ? "" : ` at its time limit of ${timeMs / 1000} s`}`
    : text.split("\n\n")[0];
  const code = stopped ? "query-too-long" : /^Out of Memory/.test(text) ? "query-too-large" : "query-failed";
  return new CalculationError(code, `sql: ${what}`, { cause: error });
}
