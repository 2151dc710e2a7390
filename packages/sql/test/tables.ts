import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { runSerially } from "../../../src/calculations/leasefold.ts";
import { parseParams } from "../../../src/engine/calculation/params.ts";
import { memoryFiles } from "../../../test/support/memoryFiles.ts";
import { sql } from "../sql.ts";

/** Files that `sql` reads from memory and DuckDB from a folder, so that every question has two answers. */
export class Tables {
  readonly content = new Map<string, Uint8Array | string>();
  readonly folder = mkdtempSync(join(tmpdir(), "leasefold-tables-"));
  #duck: Promise<DuckDBInstance> | undefined;

  /** Adds a file as `data/{name}`. */
  put(name: string, bytes: Uint8Array | string): void {
    this.content.set(`data/${name}`, typeof bytes === "string" ? Buffer.from(bytes) : bytes);
    writeFileSync(join(this.folder, name.replaceAll("/", "~")), bytes);
  }

  /** Ten files `data/{name}/1{0…9}.{ending}` of the same rows; `13`, which is no sample, has a last row of its own. */
  putLate(name: string, ending: string, rows: string, late: string): void {
    for (let file = 10; file < 20; file += 1)
      this.put(`${name}/${file}.${ending}`, file === 13 ? `${rows}${late}\n` : rows);
  }

  /** Adds a file that a statement has written into the folder. */
  putBack(name: string): void {
    this.content.set(`data/${name}`, readFileSync(join(this.folder, name.replaceAll("/", "~"))));
  }

  /** The result of a run in one thread, in chunks of 64 KB. */
  async result(params: Readonly<Record<string, unknown>>) {
    const given = parseParams(sql, { chunkBytes: 65_536, ...params });
    return runSerially(sql, given, memoryFiles(this.content, 50_000));
  }

  async rows(params: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>[]> {
    const { body } = await this.result(params);
    return JSON.parse(Buffer.from(body).toString());
  }

  /** DuckDB's own answer; `$name` stands for the path of a file. */
  async truth(query: string): Promise<Record<string, unknown>[]> {
    this.#duck ??= DuckDBInstance.create(":memory:", { threads: "1" });
    const connection = await (await this.#duck).connect();
    try {
      const text = query.replace(
        /\$([\w./=*-]+)/g,
        (_, name: string) => `'${join(this.folder, name.replaceAll("/", "~"))}'`,
      );
      const path = join(this.folder, "answer.json");
      await connection.run(`copy (${text}) to '${path}' (format json, array true)`);
      const reader = await connection.runAndReadAll(`select content from read_text('${path}')`);
      return JSON.parse(String(reader.getRows()[0]?.[0]));
    } finally {
      connection.closeSync();
    }
  }

  /** Runs a statement of DuckDB, such as one that writes a file into the folder. */
  async run(statement: string): Promise<void> {
    this.#duck ??= DuckDBInstance.create(":memory:", { threads: "1" });
    const connection = await (await this.#duck).connect();
    await connection.run(statement);
    connection.closeSync();
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
