import { CalculationError } from "../../../src/engine/model/errors.ts";
import { type Session, textLiteral } from "../duck/session.ts";
import { parseType } from "./fitting.ts";
import type { LoadedPart } from "./loadChunk.ts";
import type { Reader } from "./reader.ts";

/**
 * Throws `CalculationError` for a key of JSON objects that no sample had, where the answer depends on which there are:
 * reading typed columns leaves it out.
 */
export async function refuseUnknownKeys(
  parts: readonly LoadedPart[],
  { kind, columns }: Reader,
  session: Session,
  /** The columns that count; absent: all that there are. */
  only?: ReadonlySet<string>,
): Promise<void> {
  if (kind !== "ndjson" && kind !== "json") return;
  if (only !== undefined && !columns.some(([name, type]) => only.has(name) && /STRUCT\(/.test(type))) return;
  const format = kind === "json" ? "auto" : "newline_delimited";
  const known = parseType(
    `STRUCT(${columns.map(([name, type]) => `"${name.replaceAll('"', '""')}" ${type}`).join(", ")})`,
  );
  for (const { local } of parts) {
    const objects = `read_json(${textLiteral(local.path)}, format='${format}', records=false, columns={'o': 'JSON'})`;
    const [row] = await session
      .rows(`select json_group_structure(o) as s from ${objects}`)
      // Lines that are no JSON are found by who reads the rows.
      .catch(() => []);
    const all: unknown = JSON.parse(String(row?.["s"] ?? "null"));
    const some = Object.entries(all ?? {}).filter(([key]) => only?.has(key) === true);
    const unknown = unknownKey(only === undefined ? all : Object.fromEntries(some), known);
    if (unknown !== undefined)
      throw new CalculationError(
        "other-columns",
        `${local.file.path} has a key ${JSON.stringify(unknown)} that the first files have not; name the columns and fields that the query needs`,
      );
  }
}

type Known = ReturnType<typeof parseType>;

function unknownKey(structure: unknown, { name, parts }: Known): string | undefined {
  if (Array.isArray(structure))
    return name === "LIST" && parts[0] !== undefined ? unknownKey(structure[0], parts[0][1]) : undefined;
  if (typeof structure !== "object" || structure === null) return undefined;
  const [, value] = parts;
  if (name === "MAP" && value !== undefined)
    return Object.values(structure)
      .map((inner) => unknownKey(inner, value[1]))
      .find((found) => found !== undefined);
  if (name !== "STRUCT") return undefined;
  const fields = new Map(parts);
  for (const [key, inner] of Object.entries(structure)) {
    const field = fields.get(key);
    const found = field === undefined ? key : unknownKey(inner, field);
    if (found !== undefined) return found;
  }
  return undefined;
}
