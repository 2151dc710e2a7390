import { calculationLimits } from "../../engine/model/limits.ts";

/** A line of JSON, and the frames of bytes behind it, whose lengths its field `bytes` lists. */
export interface Message {
  readonly said: Readonly<Record<string, unknown>>;
  readonly frames: readonly Uint8Array[];
}

/** A line beyond this is refused, so that a process which writes without end does not fill the memory. */
const lineBytesMax = 64 * 1024 * 1024;

export function encodeMessage(said: object, frames: readonly Uint8Array[]): Buffer {
  const line = JSON.stringify({ ...said, bytes: frames.map(({ length }) => length) });
  return Buffer.concat([Buffer.from(`${line}\n`), ...frames]);
}

/** A function that takes what a process wrote and gives the messages that are whole by then. Throws an error that says what is wrong with it. */
export function messageReader(): (written: Buffer) => Generator<Message, void> {
  let held: Buffer[] = [];
  let bytes = 0;
  let header: { readonly said: Message["said"]; readonly lengths: readonly number[]; readonly total: number };
  let inLine = true;
  const taken = (): Buffer => {
    const all = Buffer.concat(held);
    [held, bytes] = [[], 0];
    return all;
  };
  const hold = (part: Buffer): void => {
    held.push(part);
    bytes += part.length;
  };
  return function* read(written) {
    let rest = written;
    while (rest.length > 0) {
      if (inLine) {
        const end = rest.indexOf("\n");
        hold(end < 0 ? rest : rest.subarray(0, end));
        if (bytes > lineBytesMax)
          throw new Error(`it wrote a line of more than ${lineBytesMax} bytes; larger values are bytes`);
        if (end < 0) return;
        rest = rest.subarray(end + 1);
        header = headerOf(taken());
        inLine = false;
      } else {
        const part = rest.subarray(0, header.total - bytes);
        hold(part);
        rest = rest.subarray(part.length);
      }
      if (bytes < header.total) continue;
      inLine = true;
      yield { said: header.said, frames: cut(taken(), header.lengths) };
    }
  };
}

function headerOf(line: Buffer) {
  let said: unknown;
  try {
    said = parsed(new TextDecoder("utf-8", { fatal: true }).decode(line));
  } catch (error) {
    if (error instanceof InexactError) throw error;
    throw new Error(`it wrote ${shown(line)}, which is no line of JSON`);
  }
  const { bytes: lengths = [] } = Object(said) as { bytes?: unknown };
  const isLength = (one: unknown): one is number => Number.isSafeInteger(one) && (one as number) >= 0;
  if (typeof said !== "object" || said === null || !Array.isArray(lengths) || !lengths.every(isLength))
    throw new Error(`it wrote ${shown(line)}, which is no answer`);
  const total = lengths.reduce((sum, one) => sum + one, 0);
  if (total > calculationLimits.resultBytesMax)
    throw new Error(`it announced ${total} bytes; the limit is ${calculationLimits.resultBytesMax}`);
  return { said: said as Message["said"], lengths, total };
}

const shown = (line: Buffer): string => JSON.stringify(line.toString("latin1", 0, 80));

class InexactError extends Error {}

/** JSON of which each integer is exact as a number: other languages have longer ones, which would become a neighbor. */
function parsed(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const check = (_key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    if (typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? ""))
      throw new InexactError(
        `it gave the integer ${context?.source?.slice(0, 40)}, and a number holds integers to 2^53 - 1: give it as text`,
      );
    return value;
  };
  return JSON.parse(text, check);
}

function cut(all: Buffer, lengths: readonly number[]): Uint8Array[] {
  let at = 0;
  return lengths.map((length) => {
    at += length;
    return new Uint8Array(all.subarray(at - length, at));
  });
}
