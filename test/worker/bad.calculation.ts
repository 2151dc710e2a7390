import { defineCalculation, z } from "leasefold";

const modes = [
  "none",
  "large",
  "throws",
  "hangs",
  "stalls",
  "exits",
  "many",
  "partial",
  "finish",
  "merge",
] as const;

/** Lists inputs, and goes wrong in the way its parameter names: a plan half-way through its list. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "bad",
  summary: "Goes wrong where it is told to.",
  params: z.strictObject({
    bad: z.enum(modes).default("none"),
    chunks: z.number().default(8),
  }),
  plan: ({ bad, chunks }) => (bad === "many" ? 10_000_001 : listed(bad, chunks)),
  compute({ index, input, params }) {
    if (params.bad === "partial" && index === 3)
      return { chunks: [input], ballast: "x".repeat(40 * 1024 * 1024) };
    return { chunks: [input], ballast: "" };
  },
  merge(a, b, { bad }) {
    const chunks = [...a.chunks, ...b.chunks];
    // In a tree two wide of packs of one chunk, a node of level two holds two chunks.
    if (bad === "merge" && chunks.length > 2) throw new Error(`merge met ${chunks.length} chunks`);
    return { chunks, ballast: a.ballast + b.ballast };
  },
  zero: () => ({ chunks: [], ballast: "" }),
  finish({ chunks }, { params }) {
    if (params.bad === "finish") throw new Error("finish was told to throw");
    return { chunks: chunks as number[] };
  },
});

async function* listed(bad: (typeof modes)[number], chunks: number) {
  for (let index = 0; index < chunks; index += 1) {
    if (index === chunks >> 1) {
      if (bad === "large") yield "x".repeat(100 * 1024);
      if (bad === "throws") throw new Error("half-way");
      if (bad === "exits") process.exit(3);
      if (bad === "stalls") await new Promise((resolve) => setTimeout(resolve, 3_600_000));
      while (bad === "hangs");
    }
    yield index;
  }
}
