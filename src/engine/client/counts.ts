import * as z from "zod";
import { count } from "./viewSchemas.ts";

export const counts = {
  total: count,
  done: count,
  failed: count,
  gapped: count
    .describe("Packs of which only some chunks failed, and the others are done; absent if there are none.")
    .exactOptional(),
  givenUp: count
    .describe("Of a run that ends early: neither done nor known to have failed when it did. Absent if none.")
    .exactOptional(),
};
export const countsSchema = z.object(counts).meta({ id: "Counts" });
type Counts = z.infer<typeof countsSchema>;

/** What the counts of a state and of a summary hold as failed, without what was given up or has gaps. */
export const splitLost = (
  failed: number,
  givenUp: number,
  gapped = 0,
): Pick<Counts, "failed" | "givenUp" | "gapped"> => ({
  failed: Math.max(0, failed - givenUp - gapped),
  ...(gapped === 0 ? {} : { gapped }),
  ...(givenUp === 0 ? {} : { givenUp }),
});
