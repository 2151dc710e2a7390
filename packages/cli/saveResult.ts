import { createHash, type Hash } from "node:crypto";
import { type FileHandle, rename, rm, stat } from "node:fs/promises";
import { Readable } from "node:stream";
import pMap from "p-map";
import { collect } from "../../src/app/api/bytes.ts";
import { freeing } from "../../src/azure/shortLived.ts";
import type { Client } from "../../src/engine/client/client.ts";
import {
  checkedStream,
  etagOfResult,
  listSavedFiles,
  openResult,
  openSavedFile,
  resultDiffers,
} from "../../src/engine/client/result.ts";
import { StorageError } from "../../src/engine/model/errors.ts";
import type { Manifest } from "../../src/engine/model/run.ts";
import { isAbortError } from "../../src/engine/storage/system.ts";
import { inOrder, partBytes } from "../client/download.ts";
import type { Cli } from "./cli.ts";
import { isSystemError, systemReason } from "./options.ts";
import { liveLine } from "./render/progress.ts";
import { bytes as bytesText, percent } from "./render/text.ts";
import { isFolder, notWritable, openBeside, openFolder, printBytes, saveBytes } from "./saveBytes.ts";

/**
 * Results to files and to standard output. Parts of 8 MiB are read at once and used in order, so that memory stays flat
 * however large a result is.
 *
 * Not promised: that a file is there after a break. What has been read is kept beside it, and the same command continues.
 */
type Saving = Pick<Cli, "folder" | "signal" | "err" | "clock">;

/**
 * Writes the result to a file, or to a folder if the name ends in a slash; either appears only if all hashes are right.
 * Returns its full name.
 */
export const saveResult = (cli: Saving, client: Client, manifest: Manifest, file: string): Promise<string> =>
  isFolder(file) ? saveFolder(cli, client, manifest, file) : saveFile(cli, client, manifest, file);

/** Prints the result, checked. */
export async function printResult(cli: Cli, client: Client, manifest: Manifest): Promise<void> {
  await printBytes(cli, checkedStream(partsOf(client, manifest, 0, cli.signal), manifest));
}

/** The bytes from `from` on, which is the begin of a part. */
async function* partsOf(client: Client, manifest: Manifest, from: number, signal: AbortSignal) {
  const ifMatch = await etagOfResult(client, manifest, signal);
  const open = async (index: number, ended: AbortSignal) => {
    const offset = from + index * partBytes;
    const count = Math.min(partBytes, manifest.bytes - offset);
    const { body } = await openResult(client, manifest, {
      ...{ offset, count, ifMatch, transient: true },
      signal: ended,
    });
    return await collect(body, count);
  };
  yield* inOrder(Math.ceil((manifest.bytes - from) / partBytes), open, { signal });
}

/**
 * The file beside the target is named by the hash, so that a later command with the same target continues it. Two at once
 * write the same bytes to the same places; so it is never cut.
 */
async function saveFile(cli: Saving, client: Client, manifest: Manifest, file: string): Promise<string> {
  const { path, half, handle } = await openBeside(cli, file, manifest.sha256.slice(0, 16));
  const live = liveLine(cli.err, cli.clock);
  const { bytes, sha256 } = manifest;
  let at = 0;
  try {
    const { size } = await handle.stat();
    for (let known = Math.floor(Math.min(size, bytes) / partBytes) * partBytes; ; known = 0) {
      const hash = createHash("sha256");
      await hashBegin(handle, hash, known);
      at = known;
      for await (const piece of freeing(partsOf(client, manifest, at, cli.signal))) {
        const written = writeAt(handle, piece, at);
        hash.update(piece);
        await written;
        at += piece.byteLength;
        if (cli.err.isTty)
          await live.show(`${bytesText(at)} of ${bytesText(bytes)}, ${percent(at, bytes)}`, "");
      }
      const found = hash.digest("hex");
      if (found === sha256) break;
      // What a crash of the machine left may have the size and not the bytes.
      if (known === 0) throw resultDiffers(manifest, at, found);
    }
    await handle.sync();
    await moveTo(handle, half, path);
    return path;
  } catch (error) {
    const continues = at >= partBytes && (isAbortError(error) || error instanceof StorageError);
    if (!continues) await rm(half, { force: true }).catch(() => {});
    live.clear();
    if (continues) await cli.err.write(`${bytesText(at)} are kept in ${half}: the same command continues\n`);
    throw isSystemError(error) ? notWritable(file, systemReason(error)) : error;
  } finally {
    live.clear();
    await handle.close();
  }
}

async function hashBegin(handle: FileHandle, hash: Hash, bytes: number): Promise<void> {
  const part = Buffer.allocUnsafe(Math.min(bytes, partBytes));
  for (let at = 0; at < bytes; ) {
    const { bytesRead } = await handle.read(part, 0, Math.min(part.byteLength, bytes - at), at);
    if (bytesRead === 0) return;
    hash.update(part.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** One write may take less than it was given. */
async function writeAt(handle: FileHandle, piece: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < piece.byteLength; )
    done += (await handle.write(piece, done, piece.byteLength - done, at + done)).bytesWritten;
}

/** Another command that wrote the same file may have moved it there already. */
async function moveTo(handle: FileHandle, half: string, path: string): Promise<void> {
  const { ino } = await handle.stat();
  await rename(half, path).catch(async (error: unknown) => {
    if ((await stat(path).catch(() => undefined))?.ino !== ino) throw error;
  });
}

/** The files that a result lists, by their numbers in order, and what they are of as `manifest.json`. */
async function saveFolder(cli: Saving, client: Client, manifest: Manifest, folder: string): Promise<string> {
  const listed = await listSavedFiles(client, manifest);
  if (listed === undefined) throw notWritable(folder, "the result is one file, and a folder is for several");
  const { path, half } = await openFolder(cli, folder);
  const at = { folder: half };
  const files = listed.map(({ name, bytes }, index) => {
    const [sha256, extension] = name.split(".");
    return { name: `${String(index).padStart(8, "0")}.${extension}`, bytes, sha256, saved: { name, bytes } };
  });
  try {
    // After a failure nothing more begins, and what has begun ends before its folder is removed.
    const stop = new AbortController();
    const signal = AbortSignal.any([cli.signal, stop.signal]);
    const save = async ({ name, saved }: (typeof files)[number]) => {
      if (signal.aborted) return;
      const opened = () => openSavedFile(client, manifest, saved, { signal });
      await saveBytes(at, name, opened).catch((error: unknown) => stop.abort(error));
    };
    await pMap(files, save, { concurrency: filesAtOnce });
    signal.throwIfAborted();
    const own = { ...manifest, files: files.map(({ saved: _, ...file }) => file) };
    await saveBytes(at, "manifest.json", async () => Readable.from([`${JSON.stringify(own, null, 1)}\n`]));
    await rename(half, path);
    return path;
  } catch (error) {
    await rm(half, { recursive: true, force: true });
    throw isSystemError(error) ? notWritable(folder, systemReason(error)) : error;
  }
}

const filesAtOnce = 4;
