import { type FileHandle, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Files, filesOver } from "../../src/engine/calculation/files.ts";

/**
 * The files of a local folder as `container/name`, whatever the container is called; the folder must not
 * change.
 */
export function folderFiles(folder: string): Files {
  const nameOf = (path: string): string => path.slice(path.indexOf("/") + 1);
  return filesOver({
    async list(source) {
      const names = (await readdir(folder)).filter((name) => name.startsWith(nameOf(source)));
      const files = names.sort().map(async (name) => ({
        path: `${source.split("/")[0]}/${name}`,
        bytes: (await stat(join(folder, name))).size,
        etag: "unchanged",
      }));
      return { files: await Promise.all(files) };
    },
    read: (file, from, to, _signal, spare) =>
      withFile(join(folder, nameOf(file.path)), async (handle) => {
        const bytes = spare === undefined ? Buffer.allocUnsafeSlow(to - from) : new Uint8Array(spare);
        const { bytesRead } = await handle.read(bytes, 0, bytes.length, from);
        if (bytesRead < bytes.length) throw new Error(`${file.path} ends at ${from + bytesRead}`);
        return bytes;
      }),
  });
}

async function withFile<T>(path: string, use: (handle: FileHandle) => Promise<T>): Promise<T> {
  const handle = await open(path);
  try {
    return await use(handle);
  } finally {
    await handle.close();
  }
}
