import * as z from "zod";
import { count } from "./viewSchemas.ts";

export const counts = {
  total: count,
  done: count,
  failed: count,
  givenUp: count
    .describe("Of a run that ends early: neither done nor known to have failed when it did. Absent if none.")
    .exactOptional(),
};
export const countsSchema = z.object(counts).meta({ id: "Counts" });
type Counts = z.infer<typeof countsSchema>;

/** What the counts of a state and of a summary hold as failed, without what was given up. */
export const splitLost = (failed: number, givenUp = 0): Pick<Counts, "failed" | "givenUp"> => ({
  failed: Math.max(0, failed - givenUp),
  ...(givenUp === 0 ? {} : { givenUp }),
});
