import type { FileAccess } from "../calculations/files.ts";
import type { Client } from "../client/client.ts";
import { blobFiles } from "../worker/blobFiles.ts";

/** The files of the storage that a command talks to, which it opens only when a file is asked for. */
export function clientFiles(client: () => Promise<Client>): FileAccess {
  let opened: Promise<FileAccess> | undefined;
  const open = (): Promise<FileAccess> => {
    opened ??= client().then(({ storage }) => blobFiles(storage.blobs));
    return opened;
  };
  return {
    list: async (...asked) => (await open()).list(...asked),
    read: async (...asked) => (await open()).read(...asked),
  };
}
