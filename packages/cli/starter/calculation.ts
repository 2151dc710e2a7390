import { defineCalculation, z } from "leasefold";

/**
 * STARTING-NAME finds the number below a limit whose Collatz sequence (halve it if even, else 3n + 1, until it is 1)
 * takes the most steps. It works; replace it with your own calculation, part by part.
 */

/** Numbers per chunk. A chunk should take 1 to 1,000 ms: `leasefold check` shows the time of yours. */
const numbersPerChunk = 5_000;

/** The partial result of a range of numbers: small, and enough to merge it with that of the next range. */
interface Longest {
  readonly start: number;
  readonly steps: number;
}

// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  // The name for `leasefold submit`: 1 to 40 lower-case letters, digits and dashes.
  name: "STARTING-NAME",
  summary: "finds the number below a limit with the most Collatz steps",

  // The parameters are a zod schema with types, limits, defaults and descriptions. On the command line they are options,
  // `--below 1e6`. They are stored as JSON: numbers, text, lists and plain objects. Below 1e8 every sequence stays under
  // 2^53, where JavaScript's numbers are exact.
  params: z.strictObject({
    below: z.coerce.number().int().min(2).max(1e8).default(1e6).describe("numbers from 1 to below this one"),
  }),

  // plan cuts the work into chunks. It returns the number of chunks, or a list or generator of one input per chunk, as
  // JSON of at most 64 KB each. The same parameters must give the same plan. To process files, list them here and read
  // them in compute. A source is `container/prefix` in your storage account; `leasefold upload` uploads files to it:
  //   async *plan({ source }, { files }) {
  //     for await (const file of files.list(source)) yield file;
  //   },
  //   async compute({ input: file, files }) {
  //     let lines = 0;
  //     for await (const bytes of files.read(file)) for (const byte of bytes) if (byte === 10) lines += 1;
  //     return lines;
  //   },
  plan: ({ below }) => Math.ceil((below - 1) / numbersPerChunk),

  // setup, where there is one, reads what all chunks share, once per run in each worker thread; they get it as `shared`:
  //   setup: async ({ params, files }) => readRates(params.rates, files),

  // compute returns one chunk's partial. It may run several times, in any order, on any machine: use no clock, no
  // variables outside, no random numbers but those of randomStream(seed, index), and of Math.exp, log, cos, pow and the
  // like, whose last bit may differ between machines, those of portableMath. Both are in "leasefold".
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

  // merge folds two neighbors, a before b, into one partial. Which neighbors are merged depends on chunk indices alone, so
  // sums of floating-point numbers have the same bits for any number of workers. It may change a and return it, and
  // nothing else. A tie here goes to the smaller number, which is a's. A merged partial has at most 32 MB.
  merge: (a: Longest, b: Longest): Longest => (b.steps > a.steps ? b : a),

  // zero is the partial of a run of no chunks. It is never merged.
  zero: (): Longest => ({ start: 0, steps: -1 }),

  // finish turns the last partial into the result: JSON, or any bytes as
  // `{ body: Uint8Array, contentType: "text/csv", extension: "csv" }`. Without it the partial is the result.
  finish: ({ start, steps }, { params: { below } }) => ({ below, start, steps }),

  // codec stores a partial in another form than JSON, which has no Map, Set, Date, BigInt, NaN or Infinity, or in a
  // smaller one:
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
