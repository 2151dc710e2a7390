import { identifier, type Session, textLiteral } from "../duck/session.ts";
import type { Bound, Condition } from "../split/scans.ts";
import type { Column } from "../split/splitSteps.ts";
import type { HiveColumn, SourceFile } from "./listSource.ts";
import { byName, sameName } from "./names.ts";

type Scans = readonly (readonly Condition[])[];

/** The files whose folders' values may pass the conditions of a scan, by DuckDB's own answer. */
export async function pruneFiles(
  files: readonly SourceFile[],
  hive: readonly HiveColumn[],
  scans: Scans,
  session: Session,
): Promise<readonly SourceFile[]> {
  const isNamed = byName(hive.map(([name]) => [name, true]));
  const tests = scans.map((conditions) =>
    conditions
      .filter(({ columns }) => columns.every((name) => isNamed(name)))
      .map(({ text }) => `coalesce(try(case when ${text} then true else false end), true)`),
  );
  if (tests.length === 0 || tests.some((all) => all.length === 0)) return files;
  const keyOf = (file: SourceFile): string => JSON.stringify(hive.map(([name]) => file.hive[name]));
  const keys = [...new Set(files.map(keyOf))];
  const rows = keys.map((key, index) => {
    const values = JSON.parse(key) as (string | null)[];
    const typed = values.map(
      (value, at) => `cast(${value === null ? "null" : textLiteral(value)} as ${hive[at]?.[1]})`,
    );
    return `(${[index, ...typed].join(", ")})`;
  });
  const columns = ["leasefold_index", ...hive.map(([name]) => identifier(name))];
  const kept = await session.rows(
    `select leasefold_index as i from (values ${rows.join(", ")}) t(${columns.join(", ")})
     where ${tests.map((all) => `(${all.join(" and ")})`).join(" or ")}`,
  );
  const passing = new Set(kept.map(({ i }) => keys[Number(i)]));
  return files.filter((file) => passing.has(keyOf(file)));
}

/**
 * Types whose statistics bound every value. Those of texts may be cut, and those of floats leave out NaN, which DuckDB
 * sorts above every other number.
 */
const bounded = /^(U?(TINY|SMALL|BIG)?INT(EGER)?|DECIMAL\(.*\)|DATE|TIME|TIMESTAMP( WITH TIME ZONE)?)$/;
const boundedAbove = /^(FLOAT|DOUBLE)$/;

/** A test of a row group's statistics, which is false only if no row of it passes the conditions of any scan. */
export function groupTest(columns: readonly Column[], scans: Scans): string {
  const tests = scans.map((conditions) =>
    conditions
      .flatMap(({ bounds }) => bounds)
      .flatMap((bound) => {
        const type = columns.find(([name]) => sameName(name, bound.column))?.[1];
        return type === undefined ? [] : boundTest(bound, type);
      })
      .map((test) => `coalesce(${test}, true)`),
  );
  if (tests.length === 0 || tests.some((all) => all.length === 0)) return "true";
  return `(${tests.map((all) => all.join(" and ")).join(") or (")})`;
}

function boundTest({ column, operator, constant, type: wider }: Bound, type: string): string[] {
  if (!bounded.test(type) && !(boundedAbove.test(type) && operator.startsWith("<"))) return [];
  const stat = (name: "min" | "max"): string => {
    const value = `${name}(try_cast(stats_${name}_value as ${type})) filter (path_in_schema = ${textLiteral(column)})`;
    return wider === undefined ? value : `cast(${value} as ${wider})`;
  };
  const [least, most] = [`${stat("min")} OP (${constant})`, `${stat("max")} OP (${constant})`];
  if (operator === "=") return [least.replace("OP", "<="), most.replace("OP", ">=")];
  return [(operator.startsWith("<") ? least : most).replace("OP", operator)];
}
