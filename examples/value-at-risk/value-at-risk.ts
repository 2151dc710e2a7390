import { defineCalculation, exactSum, portableMath, quantileSketch, randomStream, z } from "leasefold";

const scenariosPerChunk = 500;
const daysAhead = 10;
/** The sketch of all losses is exact within this share of a loss. */
const error = 0.001;

/** Value at risk of a portfolio with equal weights: each scenario draws ten days from the history of returns. */
// biome-ignore lint/style/noDefaultExport: a user's calculation file exports its calculation so.
export default defineCalculation({
  name: "value-at-risk",
  summary: "loss of a portfolio that ten days exceed with a given probability",
  params: z.strictObject({
    source: z.string().describe("file of daily log returns, one row a day and one column an asset"),
    scenarios: z.coerce.number().int().min(1).max(1e8).default(20_000),
    confidence: z.coerce.number().gt(0.5).lt(1).default(0.99),
    seed: z.coerce.number().int().min(0).default(1),
  }),
  plan: ({ scenarios }) => Math.ceil(scenarios / scenariosPerChunk),
  // 3 MB that every chunk needs: read once per run in each thread.
  async setup({ params: { source }, files }) {
    let text = "";
    const decoder = new TextDecoder();
    for await (const file of files.list(source))
      for await (const bytes of files.read(file)) text += decoder.decode(bytes, { stream: true });
    const lines = text.trim().split("\n").slice(1);
    return lines.map((line) => Float64Array.from(line.split(","), Number));
  },
  compute({ index, params: { scenarios, seed }, shared: days }) {
    const random = randomStream(seed, index);
    const [sum, losses] = [exactSum(), quantileSketch(error)];
    const to = Math.min((index + 1) * scenariosPerChunk, scenarios);
    for (let scenario = index * scenariosPerChunk; scenario < to; scenario += 1) {
      const drawn = Array.from({ length: daysAhead }, () => days[Math.floor(random.uniform() * days.length)]);
      const assets = drawn[0]?.length ?? 0;
      let value = 0;
      for (let asset = 0; asset < assets; asset += 1)
        value += portableMath.exp(drawn.reduce((total, day) => total + (day?.[asset] ?? 0), 0));
      const loss = 1 - value / assets;
      sum.add(loss);
      losses.add(loss);
    }
    return { sum: sum.encode(), losses: losses.encode() };
  },
  merge(a, b) {
    const [sum, losses] = [exactSum(a.sum), quantileSketch(error, a.losses)];
    sum.merge(exactSum(b.sum));
    losses.merge(quantileSketch(error, b.losses));
    return { sum: sum.encode(), losses: losses.encode() };
  },
  zero: () => ({ sum: exactSum().encode(), losses: quantileSketch(error).encode() }),
  finish({ sum, losses }, { params: { confidence } }) {
    const all = quantileSketch(error, losses);
    const meanLoss = all.count === 0 ? null : exactSum(sum).value() / all.count;
    return { valueAtRisk: all.quantile(confidence), meanLoss, scenarios: all.count };
  },
});
