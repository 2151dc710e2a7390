import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { CalculationError, ConfigError, messageOf } from "../../../model/errors.ts";

/**
 * DuckDB in the thread of the caller: in memory, with one core, no network, no extensions, and no file outside of one
 * folder. It does not promise to bound memory that DuckDB takes outside of its buffers, such as for one huge text.
 *
 * One thread and insertion order make every answer a function of the rows, their order and the memory limit alone.
 */
export interface SessionOptions {
  /** The absolute path of the one folder whose files statements may read and write; without it they see no file. */
  readonly folder?: string;
  /** What DuckDB's buffers may take, in bytes; it never spills to a disk. */
  readonly memoryBytes: number;
}

/** When a statement ends early. */
export interface Stop {
  /** The most time of one statement, in ms. */
  readonly timeMs?: number;
  readonly signal?: AbortSignal;
}

/** A row as an object of JSON values: 64-bit and larger whole numbers and decimals are texts. */
export type Row = Readonly<Record<string, unknown>>;

export class Session {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#instance = instance;
    this.#connection = connection;
  }

  static async open({ folder, memoryBytes }: SessionOptions): Promise<Session> {
    const { DuckDBInstance } = await loadDuck();
    const instance = await DuckDBInstance.create(":memory:", {
      ...{ threads: "1", preserve_insertion_order: "true", temp_directory: "" },
      ...{ memory_limit: `${Math.floor(memoryBytes / 1024)}KiB`, max_expression_depth: "250" },
      ...{ autoinstall_known_extensions: "false", autoload_known_extensions: "false" },
    });
    const connection = await instance.connect();
    const session = new Session(instance, connection);
    // Times and sorted texts must not depend on the machine.
    await session.run("set timezone = 'UTC'");
    if (folder !== undefined) await session.run(`set allowed_directories = [${textLiteral(folder)}]`);
    await session.run("set enable_external_access = false; set lock_configuration = true");
    return session;
  }

  /** Runs statements of this program, or a query that `readQuery` accepted. Throws `CalculationError`. */
  async run(sql: string, stop: Stop = {}): Promise<void> {
    await this.#guarded(stop, () => this.#connection.run(sql));
  }

  /** The rows of a query, all in memory. */
  async rows(sql: string, stop: Stop = {}): Promise<Row[]> {
    const reader = await this.#guarded(stop, () => this.#connection.runAndReadAll(sql));
    return reader.getRowObjectsJson() as Row[];
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  /** A thread cannot be ended while DuckDB works in it, so a statement is interrupted before its time is over. */
  async #guarded<T>({ timeMs, signal }: Stop, work: () => Promise<T>): Promise<T> {
    const ends = signal === undefined ? [] : [signal];
    const timeout = new AbortController();
    const timer = timeMs === undefined ? undefined : setTimeout(() => timeout.abort(), timeMs);
    const end = AbortSignal.any([...ends, timeout.signal]);
    const interrupt = (): void => this.#connection.interrupt();
    end.addEventListener("abort", interrupt);
    try {
      if (end.aborted) throw new Error("INTERRUPT Error: Interrupted!");
      return await work();
    } catch (error) {
      throw failureOf(error, end.aborted, timeMs);
    } finally {
      clearTimeout(timer);
      end.removeEventListener("abort", interrupt);
    }
  }
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
