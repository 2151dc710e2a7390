import type { FileAccess } from "../calculations/files.ts";
import type { Client } from "../client/client.ts";
import { readSettings } from "../model/settings.ts";
import { allowedFiles, blobFiles } from "../worker/blobFiles.ts";

/**
 * The files of the storage that a command talks to, which it opens only when a file is asked for. The same containers are
 * allowed as in an app of these settings, so that a plan fails here and not in the run.
 */
export function clientFiles(
  client: () => Promise<Client>,
  env: Readonly<Record<string, string | undefined>>,
): FileAccess {
  let opened: Promise<FileAccess> | undefined;
  const open = (): Promise<FileAccess> => {
    const { LEASEFOLD_SOURCES = [] } = readSettings(env);
    opened ??= client().then(({ storage, names }) =>
      allowedFiles(blobFiles(storage.blobs), [names.inputs, ...LEASEFOLD_SOURCES]),
    );
    return opened;
  };
  return {
    list: async (...asked) => (await open()).list(...asked),
    read: async (...asked) => (await open()).read(...asked),
  };
}
