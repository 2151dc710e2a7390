import * as z from "zod";
import { count } from "./decode.ts";
import { fileListType } from "./json.ts";

/**
 * A result of several files, for what is too large for one memory: its bytes list them in order, and each is a blob of its
 * own below the run.
 */
export const savedFileSchema = z.object({
  /** `{SHA-256}.{extension}`: whoever computes the chunk again saves the same bytes under the same name. */
  name: z.string().regex(/^[0-9a-f]{64}\.[A-Za-z0-9]{1,16}$/),
  bytes: count,
});
export type SavedFile = z.infer<typeof savedFileSchema>;

/** What the name of a saved file says of its bytes. */
export const sha256OfFile = (name: string): string => name.slice(0, name.indexOf("."));

export const fileListSchema = z.object({ files: z.array(savedFileSchema) });

/** The result that lists files in order; `notes` are those of a result. */
export const fileList = (files: readonly SavedFile[], notes: readonly string[] = []) => ({
  // Users' type checks do not know the array's type in those of Node.
  body: new TextEncoder().encode(`${JSON.stringify({ files }, null, 1)}\n`) as Uint8Array,
  contentType: fileListType,
  extension: "json",
  notes,
});
