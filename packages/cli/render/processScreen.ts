import { fstatSync, writeFileSync, writeSync } from "node:fs";
import { wrongUsage } from "../exitCodes.ts";
import { systemReason } from "../options.ts";
import { guardTerminal } from "./terminal.ts";
import type { Screen } from "./text.ts";

/** Some terminals report no size, or a size of 0. */
const columnsDefault = 80;
const rowsDefault = 24;

/** Standard output or standard error. Ends the process with the reason if it cannot be written. */
export function screenOf(
  stream: NodeJS.WriteStream & { readonly fd: 1 | 2 },
  env: Readonly<Record<string, string | undefined>>,
): Screen {
  const { fd } = stream;
  stream.on("error", (error) => endUnwritten(fd, error));
  const isTty = stream.isTTY === true;
  const toFile = isRegularFile(fd);
  const color = isTty && !env["NO_COLOR"] && env["TERM"] !== "dumb";
  const raw = isTty ? guardTerminal(stream, { styles: color }) : undefined;
  return {
    isTty,
    get columns() {
      return isTty ? stream.columns || columnsDefault : Number.POSITIVE_INFINITY;
    },
    get rows() {
      return isTty ? stream.rows || rowsDefault : Number.POSITIVE_INFINITY;
    },
    color,
    draw: (text) => void raw?.(text),
    async write(text) {
      if (!toFile) return await new Promise((resolve) => void stream.write(text, () => resolve()));
      try {
        // Node's own stream to a file takes a write that stopped short for a whole one.
        writeFileSync(fd, Buffer.from(text));
      } catch (error) {
        endUnwritten(fd, error);
      }
    },
  };
}

function isRegularFile(fd: number): boolean {
  try {
    return fstatSync(fd).isFile();
  } catch {
    return false;
  }
}

function endUnwritten(fd: 1 | 2, error: unknown): never {
  // A reader that has closed the pipe, such as `head`, is no error.
  if ((error as NodeJS.ErrnoException).code === "EPIPE") process.exit(0);
  try {
    const what = fd === 1 ? "standard output" : "standard error";
    writeSync(2, `leasefold: cannot write ${what}: ${systemReason(error)}\n`);
  } catch {
    // Standard error may be what cannot be written.
  }
  process.exit(wrongUsage);
}
