import { defineCalculation, z } from "leasefold";

/** Counts words over any number of text files: each file is a chunk, and its counts are the partial. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "word-counts",
  summary: "counts the words of text files",
  // What compute gives depends on the file alone, so submit --reuse takes it from an earlier run.
  byInput: true,
  params: z.strictObject({
    source: z.string().describe("container/prefix of the texts, such as leasefold-inputs/texts/"),
    top: z.coerce.number().int().min(1).max(10_000).default(10).describe("most frequent words to list"),
  }),
  async *plan({ source }, { files }) {
    for await (const file of files.list(source)) yield file;
  },
  async compute({ input: file, files }) {
    const counts = new Map<string, number>();
    const decoder = new TextDecoder();
    let text = "";
    for await (const bytes of files.read(file)) text += decoder.decode(bytes, { stream: true });
    for (const [word] of text.toLowerCase().matchAll(/\p{Letter}+/gu))
      counts.set(word, (counts.get(word) ?? 0) + 1);
    return [...counts];
  },
  // Pairs and no object: a word may be "constructor".
  merge(a, b) {
    const counts = new Map(a);
    for (const [word, count] of b) counts.set(word, (counts.get(word) ?? 0) + count);
    return [...counts];
  },
  zero: () => [],
  finish(counts, { params: { top }, folded }) {
    const sorted = counts.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
    const words = counts.reduce((sum, [, count]) => sum + count, 0);
    return { files: folded, words, different: counts.length, top: sorted.slice(0, top) };
  },
});
