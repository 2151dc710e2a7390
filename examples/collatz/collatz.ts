import { defineConcatCalculation, z } from "leasefold";

/** A table of any length in one CSV file: for each number how many steps its Collatz sequence takes to 1, and its peak. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineConcatCalculation({
  name: "collatz",
  summary: "steps and peaks of Collatz sequences, as one CSV file",
  params: z.strictObject({
    numbers: z.coerce.number().int().min(1).max(1e9).default(1_000_000).describe("from 1 up to this one"),
    rows: z.coerce.number().int().min(1).max(1e6).default(50_000).describe("numbers of one chunk"),
  }),
  output: { contentType: "text/csv; charset=utf-8", extension: "csv", head: "number,steps,peak\n" },
  plan: ({ numbers, rows }) => Math.ceil(numbers / rows),
  compute({ index, params: { numbers, rows } }) {
    let lines = "";
    const last = Math.min(numbers, (index + 1) * rows);
    for (let number = index * rows + 1; number <= last; number += 1) {
      let [value, peak, steps] = [BigInt(number), BigInt(number), 0];
      for (; value > 1n; steps += 1) {
        value = value % 2n === 0n ? value / 2n : 3n * value + 1n;
        if (value > peak) peak = value;
      }
      lines += `${number},${steps},${peak}\n`;
    }
    return lines;
  },
});
