import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";

const here = pathToFileURL(join(import.meta.dirname, "..")).href;

/** What a process of its own prints: only one that has run no query shows what is loaded. */
const printed = (code: string): string =>
  execFileSync(process.execPath, ["--input-type=module", "--eval", code], { encoding: "utf8" });

const isLoaded = `process.report.getReport().sharedObjects.some((file) => file.includes("libduckdb"))`;
const openSession = `(await import("${here}/duck/session.ts")).withSession((session) => session.rows("select 42 as n"))`;

test("DuckDB is loaded with the first query, and not with the program", () => {
  const code = `
    const { builtIn } = await import("${here}/builtIn.ts");
    const names = builtIn.map(({ name }) => name);
    const before = ${isLoaded};
    const rows = await ${openSession};
    console.log(JSON.stringify({ sql: names.includes("sql"), before, after: ${isLoaded}, rows }));`;
  expect(JSON.parse(printed(code))).toEqual({ sql: true, before: false, after: true, rows: [{ n: 42 }] });
});

test("a machine without DuckDB's binary is told so in one sentence", () => {
  const code = `
    import { registerHooks } from "node:module";
    const resolve = (specifier, context, next) => {
      if (specifier === "@duckdb/node-api") throw new Error("Cannot find module of this machine");
      return next(specifier, context);
    };
    registerHooks({ resolve });
    const error = await ${openSession}.catch((one) => one);
    console.log(JSON.stringify({ code: error.code, message: error.message }));`;
  const machine = `${process.platform}-${process.arch}`;
  expect(JSON.parse(printed(code))).toEqual({
    code: "no-duckdb",
    message: `sql needs DuckDB, whose binary for ${machine} is not installed: install @duckdb/node-bindings-${machine}`,
  });
});

test("an app without DuckDB is told which package has it", () => {
  const code = `
    import { registerHooks } from "node:module";
    const missing = (name) => Object.assign(new Error("Cannot find package '" + name + "'"), { code: "ERR_MODULE_NOT_FOUND" });
    const resolve = (specifier, context, next) => {
      if (["@duckdb/node-api", "leasefold-sql"].includes(specifier)) throw missing(specifier);
      return next(specifier, context);
    };
    registerHooks({ resolve });
    const error = await ${openSession}.catch((one) => one);
    console.log(JSON.stringify({ code: error.code, message: error.message }));`;
  const message = "sql needs DuckDB: npm i leasefold-sql";
  expect(JSON.parse(printed(code))).toEqual({ code: "no-duckdb", message });
});

test("leasefold-sql has the version of leasefold, and the DuckDB that is tested here", () => {
  const read = (path: string) => JSON.parse(readFileSync(join(import.meta.dirname, path), "utf8"));
  const [whole, ours] = [read("../../../package.json"), read("../package.json")];
  const duckdb = "@duckdb/node-api";
  expect([ours.name, ours.version]).toEqual(["leasefold-sql", whole.version]);
  expect(ours.dependencies).toEqual({ [duckdb]: whole.devDependencies[duckdb] });
  expect(whole.peerDependencies["leasefold-sql"]).toBe(whole.version);
});
