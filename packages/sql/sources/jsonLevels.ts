import { CalculationError } from "../../../src/engine/model/errors.ts";
import type { FileKind } from "./fileFormat.ts";
import { type LocalFile, localPieces } from "./localFile.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { jsonLevelsMax } = sourceLimits;
const [quote, backslash, lineFeed] = [0x22, 0x5c, 0x0a];

/**
 * Throws `CalculationError` for a local JSON file of more than `jsonLevelsMax` levels: DuckDB's reader recurses, and one deep value
 * would end the process.
 */
export async function refuseDeep(
  { path, file }: Pick<LocalFile, "path" | "file">,
  kind: FileKind,
): Promise<void> {
  if (kind !== "ndjson" && kind !== "json") return;
  const isDeep = levelScan(kind === "ndjson");
  for await (const piece of localPieces(path))
    if (isDeep(piece))
      throw new CalculationError(
        "bad-file",
        `${file.path}: a value has more than ${jsonLevelsMax} levels of arrays and objects`,
      );
}

/** Says of each piece of a text whether it gets too deep. Of lines it scans only those that are long enough to. */
function levelScan(isLines: boolean): (piece: Buffer) => boolean {
  let levels = 0;
  let isText = false;
  let isEscaped = false;
  let isStart = isLines;
  return (piece) => {
    for (let at = 0; at < piece.length; at += 1) {
      if (isStart) {
        // All lines up to there are short.
        const end = piece.lastIndexOf(lineFeed, at + jsonLevelsMax);
        if (end >= at) {
          at = end;
          continue;
        }
        isStart = false;
      }
      const byte = piece[at] ?? 0;
      if (byte === lineFeed && isLines) {
        levels = 0;
        isText = isEscaped = false;
        isStart = true;
      } else if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) isText = false;
      } else if (byte === quote) isText = true;
      // [ and {, or ] and }.
      else if ((byte | 0x20) === 0x7b) {
        levels += 1;
        if (levels > jsonLevelsMax) return true;
      } else if ((byte | 0x20) === 0x7d) levels -= 1;
    }
    return false;
  };
}
