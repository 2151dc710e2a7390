import { identifier, type Session, textLiteral } from "../duck/session.ts";
import type { Bound, Reads } from "./conditions.ts";
import type { Column } from "./findTypes.ts";
import type { HiveColumn, SourceFile } from "./listSource.ts";

/** The files whose folders' values satisfy every condition on them, by DuckDB's own answer. */
export async function pruneFiles(
  files: readonly SourceFile[],
  hive: readonly HiveColumn[],
  { conditions, alias }: Reads,
  session: Session,
): Promise<readonly SourceFile[]> {
  const names = new Set(hive.map(([name]) => name.toLowerCase()));
  const usable = conditions.filter(({ columns }) => columns.every((name) => names.has(name)));
  if (usable.length === 0) return files;
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
    `select leasefold_index as i from (values ${rows.join(", ")}) ${identifier(alias)}(${columns.join(", ")})
     where ${usable.map(({ text }) => `(${text})`).join(" and ")}`,
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

/** A test of a row group's statistics, which is false only if no row of it satisfies every condition. */
export function groupTest(columns: readonly Column[], { conditions }: Reads): string {
  const types = new Map(columns.map(([name, type]) => [name.toLowerCase(), type]));
  const tests = conditions.flatMap(({ bound }) => {
    const type = bound === undefined ? undefined : types.get(bound.column);
    return bound === undefined || type === undefined ? [] : boundTest(bound, type);
  });
  return tests.length === 0 ? "true" : tests.map((test) => `coalesce(${test}, true)`).join(" and ");
}

function boundTest({ column, operator, constant }: Bound, type: string): string[] {
  if (!bounded.test(type) && !(boundedAbove.test(type) && operator.startsWith("<"))) return [];
  const stat = (name: "min" | "max"): string =>
    `${name}(try_cast(stats_${name}_value as ${type})) filter (lower(path_in_schema) = ${textLiteral(column)})`;
  const [least, most] = [`${stat("min")} OP (${constant})`, `${stat("max")} OP (${constant})`];
  if (operator === "=") return [least.replace("OP", "<="), most.replace("OP", ">=")];
  return [(operator.startsWith("<") ? least : most).replace("OP", operator)];
}
