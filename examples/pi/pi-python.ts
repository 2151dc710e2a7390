import { defineCommandCalculation, z } from "leasefold";

/** The calculation of pi.ts by a program in Python. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCommandCalculation({
  name: "pi-python",
  summary: "pi by midpoint sums, in Python",
  params: z.strictObject({ terms: z.coerce.number().int().min(1).max(1e9).default(1_000_000) }),
  command: ["python3", "pi.py"],
  folder: import.meta.dirname,
  files: ["pi.py"],
});
