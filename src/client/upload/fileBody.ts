import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { uploadBlockBytes } from "../../storage/uploadBlocks.ts";
import { badFile, changedMeanwhile, type LocalFile } from "./localFiles.ts";

/** A file's bytes, once, and their hash when they have ended. */
export interface FileBody {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** SHA-256 in hex; only after the last piece. */
  sha256(): string;
}

/** Throws `InputError` when the file is not what was found before: a blob must hold one state of it. */
export function fileBody(local: LocalFile, onBytes: (bytes: number) => void): FileBody {
  const hash = createHash("sha256");
  let sha256 = "";
  async function* pieces(): AsyncGenerator<Uint8Array> {
    const handle = await open(local.file).catch((error: NodeJS.ErrnoException) => {
      throw badFile(`cannot read ${local.file} (${error.code ?? "unknown"})`);
    });
    try {
      let read = 0;
      for await (const piece of handle.createReadStream({
        autoClose: false,
        highWaterMark: uploadBlockBytes,
      })) {
        read += (piece as Buffer).length;
        // One that somebody writes to may go on for ever.
        if (read > local.bytes) throw changedMeanwhile(local.file);
        hash.update(piece as Buffer);
        onBytes((piece as Buffer).length);
        yield piece as Buffer;
      }
      if (read !== local.bytes || (await isChanged(handle, local))) throw changedMeanwhile(local.file);
      sha256 = hash.digest("hex");
    } finally {
      await handle.close();
    }
  }
  return { pieces: pieces(), sha256: () => sha256 };
}

async function isChanged(handle: FileHandle, { bytes, mtimeMs }: LocalFile): Promise<boolean> {
  const now = await handle.stat();
  return now.size !== bytes || now.mtimeMs !== mtimeMs;
}

/** The hash of a local file. */
export async function sha256OfFile(local: LocalFile): Promise<string> {
  const body = fileBody(local, () => {});
  for await (const _ of body.pieces);
  return body.sha256();
}
