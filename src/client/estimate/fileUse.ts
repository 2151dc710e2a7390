import type { FileAccess } from "../../calculations/files.ts";
import { type CallCounts, calls } from "../../model/calls.ts";

/** What a calculation asked of its files: calls of two billing classes, and the bytes that its reads asked for. */
export interface FileUse {
  readonly list: number;
  readonly read: number;
  readonly bytes: number;
}

const noUse: FileUse = { list: 0, read: 0, bytes: 0 };

export const callsOf = ({ list, read }: FileUse): CallCounts => calls({ list, read });

export const addUse = (a: FileUse, b: FileUse): FileUse => ({
  list: a.list + b.list,
  read: a.read + b.read,
  bytes: a.bytes + b.bytes,
});

/** To whole calls and bytes. */
export const scaleUse = (use: FileUse, times: number): FileUse => ({
  list: Math.round(use.list * times),
  read: Math.round(use.read * times),
  bytes: Math.round(use.bytes * times),
});

/** Counts what passes on its way to `access`; `take` gives what came since it was last taken. */
export function countedFiles(access: FileAccess): { readonly access: FileAccess; take(): FileUse } {
  let use = noUse;
  return {
    access: {
      list(...asked) {
        use = { ...use, list: use.list + 1 };
        return access.list(...asked);
      },
      read(file, from, to, signal) {
        use = { ...use, read: use.read + 1, bytes: use.bytes + to - from };
        return access.read(file, from, to, signal);
      },
    },
    take() {
      const taken = use;
      use = noUse;
      return taken;
    },
  };
}
