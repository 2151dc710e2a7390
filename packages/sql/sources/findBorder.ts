import { pMapIterable } from "p-map";
import type { FileFact, Files } from "../../../src/engine/calculation/files.ts";
import { sourceLimits } from "./sourceLimits.ts";

const { firstReadBytes, borderBytesMax, bordersAtOnce, recordBytesMax } = sourceLimits;

const [quote, lineFeed, carriageReturn] = [0x22, 0x0a, 0x0d];

interface CsvFile {
  readonly file: FileFact;
  readonly delimiter: string;
}

/**
 * Where the ranges of a CSV file begin that follow its first: at the first record at or after each multiple of `stride`.
 * From the middle of a file nobody can tell a line break within quotes from one without. So the bytes that follow each
 * border are read until the quotes tell, and where they do not, the range before goes on.
 */
export async function csvBorders(csv: CsvFile, stride: number, files: Files): Promise<number[]> {
  const { bytes } = csv.file;
  const targets = Array.from({ length: Math.ceil(bytes / stride) - 1 }, (_, index) => (index + 1) * stride);
  const found = pMapIterable(targets, async (target) => ({ border: await findBorder(csv, target, files) }), {
    concurrency: bordersAtOnce,
  });
  const borders: number[] = [];
  for await (const { border = 0 } of found)
    if (border > (borders.at(-1) ?? 0) && border < bytes) borders.push(border);
  return borders;
}

/** Where the first line begins at or after `at`, if no line feed is part of a record. */
export async function lineAt(at: number, file: FileFact, files: Files): Promise<number> {
  if (at === 0 || at >= file.bytes) return Math.min(at, file.bytes);
  let from = at - 1;
  for await (const piece of piecesOf(file, from, file.bytes, files)) {
    const line = piece.indexOf(lineFeed);
    if (line !== -1) return from + line + 1;
    from += piece.length;
  }
  return file.bytes;
}

/**
 * Finds where a record begins at or after `target`, from the bytes that follow it alone: in most files with quotes from
 * the first 64 KB, in one without any from 2 MB, since no quoted field is longer. It is the first such record, or the
 * first after a quote that tells. Undefined where `bytesMax` bytes do not tell, and the length of the file where none begins.
 *
 * Not promised: that the file is valid CSV before `target`. If it is not, whoever reads up to `target` finds that out.
 */
export async function findBorder(
  csv: CsvFile,
  target: number,
  files: Files,
  bytesMax: number = 2 * recordBytesMax,
): Promise<number | undefined> {
  const { file } = csv;
  const from = Math.max(0, target - 2);
  const to = Math.min(file.bytes, from + bytesMax);
  const scan = borderScan(csv, target);
  for await (const piece of piecesOf(file, from, to, files)) if (scan.push(piece)) return scan.border();
  return to === file.bytes ? scan.end() : undefined;
}

/** Reads one piece after the other, none ahead: many files are read at the same time. The first one is short. */
async function* piecesOf(file: FileFact, from: number, to: number, files: Files): AsyncGenerator<Uint8Array> {
  let bytes: number = firstReadBytes;
  for (let at = from; at < to; bytes = Math.min(borderBytesMax, bytes * 16)) {
    const end = Math.min(to, at + bytes);
    yield* files.read(file, { from: at, to: end });
    at = end;
  }
}

/** Quotes after which a scan ends. In a table that is made to read the same both ways no number of them would tell. */
const quotesMax = 100_000;

/** One of the states in which a scan of the whole file may be where this one begins, and what became of it. */
interface Track {
  state: "outside" | "inside" | "closing";
  /** The quoted field that was open where the scan began has ended. */
  left: boolean;
  /** The first record that begins at or after the target. */
  border?: number;
}

/**
 * Follows each state in which a scan of the whole file may be before the target, by the same rules. A track ends where
 * that scan would refuse the file. Two tracks that are outside quotes at the same byte agree from there on. So the border
 * is that of the only track that is left, or the first after all agree.
 */
function borderScan({ file, delimiter }: CsvFile, target: number) {
  const comma = delimiter.charCodeAt(0);
  const endsField = (byte: number): boolean => byte === comma || byte === lineFeed || byte === carriageReturn;
  const start = Math.max(0, target - 1);
  let at = Math.max(0, target - 2);
  let tracks: Track[] | undefined;
  let last = lineFeed;
  let steps = 0;

  function tracksAfter(byte: number): Track[] {
    const states =
      byte === quote ? (["outside", "inside", "closing"] as const) : (["outside", "inside"] as const);
    return states.map((state) => ({ state, left: state === "outside" }));
  }

  function step(track: Track, byte: number, before: number): boolean {
    if (track.state === "closing") {
      if (byte !== quote && !endsField(byte)) return false;
      track.state = byte === quote ? "inside" : "outside";
      if (byte !== quote) track.left = true;
    } else if (byte === quote && track.state === "inside") track.state = "closing";
    else if (byte === quote && endsField(before)) track.state = "inside";
    return true;
  }

  /** One track for several that are all outside quotes. It has no border yet, because before this byte they may differ. */
  const agreed = (alive: Track[]): Track[] =>
    alive.length > 1 && alive.every(({ state }) => state === "outside")
      ? [{ state: "outside", left: true }]
      : alive;

  /** Whether the tracks that are left give one border, or none. */
  const isSettled = (alive: readonly Track[]): boolean =>
    alive.length === 0 || (alive.length === 1 && alive[0]?.border !== undefined);

  return {
    /** Takes the next bytes, from two before the target on, or from the first record. True when more would tell nothing. */
    push(bytes: Uint8Array): boolean {
      const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
      let here = 0;
      if (tracks === undefined && at < start) last = piece[here++] ?? last;
      let alive = tracks ?? tracksAfter(last);
      while (here < piece.length && !isSettled(alive)) {
        if (!alive.some(({ state }) => state === "closing")) {
          const found = piece.indexOf(quote, here);
          const next = found === -1 ? piece.length : found;
          for (const track of alive) {
            if (track.state !== "outside" || track.border !== undefined) continue;
            const line = piece.subarray(here, next).indexOf(lineFeed);
            if (line !== -1) track.border = at + here + line + 1;
          }
          alive = agreed(alive.filter(({ left }) => left || at + next - start <= recordBytesMax));
          here = next;
          if (here === piece.length || isSettled(alive)) break;
        }
        const byte = piece[here] as number;
        const before = here === 0 ? last : (piece[here - 1] as number);
        steps += 1;
        alive = steps > quotesMax ? [] : agreed(alive.filter((track) => step(track, byte, before)));
        here += 1;
        for (const track of alive)
          if (byte === lineFeed && track.state === "outside") track.border ??= at + here;
      }
      at += piece.length;
      last = piece.at(-1) ?? last;
      tracks = alive;
      return isSettled(alive);
    },
    /** At the end of the file, where no quoted field may be open. */
    end(): number | undefined {
      tracks = tracks?.filter(({ state }) => state !== "inside");
      return tracks?.length === 1 ? (tracks[0]?.border ?? file.bytes) : undefined;
    },
    border: () => tracks?.[0]?.border,
  };
}
