import { baseContentType, mayBeShown } from "../../model/resultType.ts";
import type { Manifest } from "../../model/run.ts";

/** Content type, file name and generation of a result or of an answer so far. */
export function describeBytes({
  run,
  blob,
  contentType,
  generation,
}: Pick<Manifest, "run" | "blob" | "contentType" | "generation">): Record<string, string> {
  const extension = /\.([A-Za-z0-9]+)$/.exec(blob)?.[1] ?? "bin";
  // JSON is UTF-8 by definition; any other type is given as the calculation named it.
  const isJson = baseContentType(contentType) === "application/json";
  return {
    "content-type": isJson ? "application/json" : contentType,
    // A page or picture with script, opened from this origin, would have the function key within reach.
    "content-disposition": `${mayBeShown(contentType) ? "inline" : "attachment"}; filename="${run}.${extension}"`,
    "leasefold-generation": String(generation),
  };
}
