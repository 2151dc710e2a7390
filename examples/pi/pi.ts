import { defineCalculation, z } from "leasefold";

const termsPerChunk = 50_000;

/** Pi as the integral of 4 / (1 + x²) from 0 to 1, by midpoints: the same numbers as in pi.py. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "pi",
  summary: "pi by midpoint sums",
  params: z.strictObject({ terms: z.coerce.number().int().min(1).max(1e9).default(1_000_000) }),
  plan: ({ terms }) => Math.ceil(terms / termsPerChunk),
  compute({ index, params: { terms } }) {
    const [begin, end] = [index * termsPerChunk, Math.min((index + 1) * termsPerChunk, terms)];
    let sum = 0;
    for (let term = begin; term < end; term += 1) {
      const x = (term + 0.5) / terms;
      sum += 4 / (1 + x * x);
    }
    return { sum, terms: end - begin };
  },
  merge: (a, b) => ({ sum: a.sum + b.sum, terms: a.terms + b.terms }),
  zero: () => ({ sum: 0, terms: 0 }),
  finish: ({ sum, terms }, { params }) => ({ pi: sum / params.terms, terms }),
});
