import { randomUUID } from "node:crypto";
import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { Client } from "../client/client.ts";
import { openResult } from "../client/result.ts";
import { InputError } from "../model/errors.ts";
import type { Manifest } from "../model/run.ts";
import type { Cli } from "./cli.ts";

/**
 * Writes a stream to a file under a temporary name beside it and renames it at the end, when the stream ended well:
 * whoever sees the file sees the whole of it. Gives the file's full name.
 */
export async function saveBytes(
  cli: Pick<Cli, "folder">,
  file: string,
  openBody: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<string> {
  const path = resolve(cli.folder, file);
  const half = `${path}.${randomUUID().slice(0, 8)}.part`;
  const handle = await openFor(file, half);
  try {
    for await (const piece of await openBody()) await handle.write(piece);
    await handle.close();
    await rename(half, path).catch((cause: unknown) => Promise.reject(notWritable(file, cause)));
    return path;
  } catch (error) {
    await handle.close().catch(() => {});
    await rm(half, { force: true });
    throw error;
  }
}

/** Streams to standard output as fast as the reader takes it. */
export async function printBytes(cli: Pick<Cli, "out">, body: AsyncIterable<Uint8Array>): Promise<void> {
  let last: number | undefined;
  for await (const piece of body) {
    await cli.out.write(piece);
    last = piece.at(-1) ?? last;
  }
  const newline = 10;
  // A shell's prompt begins on a line of its own; a file or pipe gets the very bytes.
  if (cli.out.isTty && last !== undefined && last !== newline) await cli.out.write("\n");
}

async function openFor(file: string, half: string): Promise<FileHandle> {
  try {
    return await open(half, "wx");
  } catch (cause) {
    throw notWritable(file, cause);
  }
}

function notWritable(file: string, cause: unknown): InputError {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown";
  return new InputError("invalid", "bad-file", `-o: cannot write ${file} (${code})`, { field: "output" });
}

/** Writes the result to a file, which appears only when its hash was right. Gives the file's full name. */
export const saveResult = (cli: Cli, client: Client, manifest: Manifest, file: string): Promise<string> =>
  saveBytes(cli, file, async () => (await openResult(client, manifest, { signal: cli.signal })).body);

/** Streams the result to standard output. */
export async function printResult(cli: Cli, client: Client, manifest: Manifest): Promise<void> {
  await printBytes(cli, (await openResult(client, manifest, { signal: cli.signal })).body);
}
