import { defineCalculation, z } from "leasefold";

/**
 * STARTING-NAME finds the number below a limit whose Collatz sequence (halve it if even, else 3n + 1, until it is 1)
 * takes the most steps. It works as it is; put your own calculation in its place, part by part.
 */

/** Numbers of one chunk. A chunk should take 1 to 1,000 ms: `leasefold check` tells what yours takes. */
const numbersPerChunk = 5_000;

/** What is known of a stretch of numbers. Small, and enough to merge with its neighbour's. */
interface Longest {
  readonly start: number;
  readonly steps: number;
}

// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  // What `leasefold submit` takes: 1 to 40 lower-case letters, digits and dashes.
  name: "STARTING-NAME",
  summary: "finds the number below a limit with the most Collatz steps",

  // The parameters are a zod schema: types, limits, defaults, and a text for the help. On the command line they are
  // options, `--below 1e6`. They are stored as JSON, so keep to numbers, text, lists and plain objects.
  // Below 1e8 every sequence stays under 2^53, where JavaScript's numbers are exact.
  params: z.strictObject({
    below: z.coerce.number().int().min(2).max(1e8).default(1e6).describe("numbers from 1 to below this one"),
  }),

  // plan cuts the work into chunks. A number says how many there are; a list (or a generator) gives each chunk an input
  // of its own, as JSON of at most 64 KB. The same parameters must give the same plan.
  //
  // To work on files, list them here and read them in compute. A source is `container/prefix` in your storage account,
  // and `leasefold upload` puts files there:
  //   async *plan({ source }, { files }) {
  //     for await (const file of files.list(source)) yield file;
  //   },
  //   async compute({ input: file, files }) {
  //     let lines = 0;
  //     for await (const bytes of files.read(file)) for (const byte of bytes) if (byte === 10) lines += 1;
  //     return lines;
  //   },
  plan: ({ below }) => Math.ceil((below - 1) / numbersPerChunk),

  // compute makes one chunk's partial. It may run several times, in any order, on any machine: so no random numbers but
  // those of a generator seeded with params and index, no clock, and nothing kept in variables outside.
  compute({ index, params: { below } }): Longest {
    const from = 1 + index * numbersPerChunk;
    const to = Math.min(from + numbersPerChunk, below);
    let longest: Longest = { start: from, steps: stepsFrom(from) };
    for (let start = from + 1; start < to; start += 1) {
      const steps = stepsFrom(start);
      if (steps > longest.steps) longest = { start, steps };
    }
    return longest;
  },

  // merge folds two neighbours, a before b. Partials are merged in any grouping, so it must not matter which pair is
  // merged first: (a·b)·c = a·(b·c), to the last bit. Adding floating-point numbers does not keep to that; whole
  // numbers, minima, maxima and counts do, and so does exactSum, which "leasefold" exports as well. A tie here goes to the smaller number, which is a's.
  // A merged partial must not grow with every chunk in it: 32 MB is the limit.
  merge: (a: Longest, b: Longest): Longest => (b.steps > a.steps ? b : a),

  // zero changes nothing when it is merged with anything. It is also the partial of a run of no chunks.
  zero: (): Longest => ({ start: 0, steps: -1 }),

  // finish makes the result of the last partial: JSON, or bytes of any kind as
  // `{ body: Uint8Array, contentType: "text/csv", extension: "csv" }`. Without it the partial is the result.
  finish: ({ start, steps }, { params: { below } }) => ({ below, start, steps }),

  // codec says how a partial is stored; without one it is JSON, which has no Map, Set, Date, BigInt, NaN or Infinity.
  // It is also how large partials become small:
  //   codec: {
  //     contentType: "application/octet-stream",
  //     encode: ({ start, steps }: Longest) => new Uint8Array(Float64Array.of(start, steps).buffer),
  //     decode(bytes: Uint8Array): Longest {
  //       const [start = 0, steps = 0] = new Float64Array(bytes.slice().buffer);
  //       return { start, steps };
  //     },
  //   },
});

function stepsFrom(start: number): number {
  let steps = 0;
  for (let n = start; n !== 1; n = n % 2 === 0 ? n / 2 : 3 * n + 1) steps += 1;
  return steps;
}
