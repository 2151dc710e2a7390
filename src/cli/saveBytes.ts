import { randomUUID } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { resolve } from "node:path";
import type { Client } from "../client/client.ts";
import { openResult } from "../client/result.ts";
import { InputError } from "../model/errors.ts";
import type { Manifest } from "../model/run.ts";
import type { Cli } from "./cli.ts";
import { systemCode } from "./options.ts";

/**
 * Writes a stream to a temporary file beside `file` and renames it when the stream has ended without an error, so that
 * `file` is never incomplete. Returns its full name.
 */
export async function saveBytes(
  cli: Pick<Cli, "folder">,
  file: string,
  openBody: () => Promise<AsyncIterable<Uint8Array>>,
): Promise<string> {
  const notWritable = (cause: unknown): never => {
    const message = `-o: cannot write ${file} (${systemCode(cause)})`;
    throw new InputError("invalid", "bad-file", message, { field: "output" });
  };
  const path = resolve(cli.folder, file);
  const half = `${path}.${randomUUID().slice(0, 8)}.part`;
  const handle = await open(half, "wx").catch(notWritable);
  try {
    for await (const piece of await openBody()) await handle.write(piece);
    await handle.close();
    await rename(half, path).catch(notWritable);
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
  // On a terminal the prompt begins on a new line; a file or pipe gets the exact bytes.
  if (cli.out.isTty && last !== undefined && last !== newline) await cli.out.write("\n");
}

/** Writes the result to a file, which appears only if its hash is right. Returns the file's full name. */
export const saveResult = (cli: Cli, client: Client, manifest: Manifest, file: string): Promise<string> =>
  saveBytes(cli, file, async () => (await openResult(client, manifest, { signal: cli.signal })).body);

/** Streams the result to standard output. */
export async function printResult(cli: Cli, client: Client, manifest: Manifest): Promise<void> {
  await printBytes(cli, (await openResult(client, manifest, { signal: cli.signal })).body);
}
