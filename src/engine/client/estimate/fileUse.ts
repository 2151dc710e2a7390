import * as z from "zod";
import type { FileAccess } from "../../calculation/files.ts";
import { type CallCounts, calls } from "../../model/calls.ts";
import { count } from "../viewSchemas.ts";

export const fileUseSchema = z
  .object({ list: count, read: count, bytes: count })
  .describe("Calls of a calculation on its files, by billing class, and the bytes that it asked for.")
  .meta({ id: "FileUse" });
export type FileUse = z.infer<typeof fileUseSchema>;

export const callsOf = ({ list, read }: FileUse): CallCounts => calls({ list, read });

export const useOf = (count: (name: keyof FileUse) => number): FileUse => ({
  list: count("list"),
  read: count("read"),
  bytes: count("bytes"),
});
const noUse = useOf(() => 0);

/** Counts the calls on `access`; `take` gives the counts since the last `take`. */
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
