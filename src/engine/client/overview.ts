import * as z from "zod";
import { sumCosts } from "../model/cost.ts";
import { cureOf } from "../model/cure.ts";
import { countOf, lostText } from "../model/figures.ts";
import { refusedText } from "../model/identity.ts";
import { type Client, defined } from "./client.ts";
import { type Costed, isCosted } from "./costs.ts";
import { type RunsQuery, sinceOf } from "./runFilter.ts";
import { allRuns } from "./runs.ts";
import { count, list, seconds, text, time } from "./viewSchemas.ts";

const attentionSchema = z.object({
  run: text,
  calculation: text,
  word: text.describe("Its state, as lists have it."),
  submittedAt: time,
  code: text.describe("Of its error.").exactOptional(),
  message: text.describe("Why."),
  cure: z
    .object({ command: text, text })
    .describe("The command that helps, and what it does.")
    .exactOptional(),
});
export type Attention = z.infer<typeof attentionSchema>;

const earlierSchema = z.object({
  run: text,
  word: text,
  submittedAt: time,
  elapsedS: seconds,
  dollars: z.number(),
  same: z
    .boolean()
    .describe("Whether its result has the hash of the one before. Absent without two results.")
    .exactOptional(),
});

const seriesSchema = z
  .object({
    name: text.describe("Of the schedule that submits its runs, or else of the calculation."),
    calculation: text,
    runs: list(earlierSchema).describe("Its last runs that have ended, oldest first."),
  })
  .meta({ id: "Series" });
export type Series = z.infer<typeof seriesSchema>;

export const overviewSchema = z
  .object({
    since: time,
    complete: count,
    gaps: count.describe("Complete with gaps."),
    failed: count,
    cancelled: count,
    active: count,
    dollars: z.number(),
    attention: list(attentionSchema).describe(
      "What failed, has gaps or waits for other code; at most 100, in this order.",
    ),
    series: list(seriesSchema).describe("At most 100; those that need attention first."),
  })
  .meta({ id: "Overview" });
export type Overview = z.infer<typeof overviewSchema>;

const listedMax = 100;
/** Runs of a series that are shown, and how far back they are listed. */
const runsShown = 14;
const backMs = 14 * 86_400_000;

/**
 * What became of the runs that were submitted since a time, `yesterday` by default, and how they compare with those of the two
 * weeks before. Costs what the list of all these runs costs. Throws `InputError` naming the field.
 */
export async function overview(
  client: Client,
  query: Pick<RunsQuery, "calculation" | "tag" | "since" | "prefix"> = {},
): Promise<Overview> {
  const nowMs = client.clock.wallMs();
  const sinceMs = sinceOf(query.since ?? "yesterday", nowMs);
  const since = new Date(Math.min(sinceMs, nowMs - backMs)).toISOString();
  const all = (await allRuns(client, { ...query, since })).filter(isCosted);
  const now = all.filter(({ submittedAt }) => Date.parse(submittedAt) >= sinceMs);
  const words = (word: Costed["word"]) => now.filter((run) => run.word === word).length;
  const attention = now
    .flatMap((run) => attentionOf(run) ?? [])
    .sort((a, b) => urgency(a) - urgency(b))
    .slice(0, listedMax);
  return {
    since: new Date(sinceMs).toISOString(),
    complete: words("complete"),
    gaps: words("complete-with-gaps"),
    failed: words("failed"),
    cancelled: words("cancelled"),
    active: now.filter(({ active }) => active).length,
    dollars: sumCosts(now).dollars,
    attention,
    series: seriesOf(all, attention),
  };
}

/** Undefined for a run of which nobody needs to know. */
function attentionOf(one: Costed): Attention | undefined {
  const { run, calculation, word, submittedAt, error, chunks } = one;
  const about = { run, calculation, word, submittedAt, cure: cureOf(run, calculation, error?.code) };
  if (word === "failed")
    return { ...about, ...defined({ code: error?.code }), message: error?.message ?? "its error is lost" };
  if (word === "complete-with-gaps" && chunks !== undefined)
    return { ...about, message: `${lostText(one, chunks)} of ${countOf(chunks.total, "chunk")}` };
  if (!("otherCode" in one) || one.otherCode === undefined) return undefined;
  const { cure: _none, ...waiting } = about;
  return { ...waiting, message: refusedText(one.otherCode) };
}

const order = ["failed", "complete-with-gaps"];
/** What waits stands last. */
const urgency = ({ word }: Attention): number => order.indexOf(word) >>> 0;

function seriesOf(all: readonly Costed[], attention: readonly Attention[]): Series[] {
  const bad = new Set(attention.map(({ run }) => run));
  const calm = ({ runs }: Series) => Number(!runs.some(({ run }) => bad.has(run)));
  const ended = all
    .filter(({ active }) => !active)
    .sort((a, b) => a.submittedAt.localeCompare(b.submittedAt));
  return [...Map.groupBy(ended, nameOf)]
    .map(([name, own]) => {
      const last = own.slice(-runsShown);
      return { name, calculation: last.at(-1)?.calculation ?? "", runs: withSame(last) };
    })
    .sort((a, b) => calm(a) - calm(b) || a.name.localeCompare(b.name))
    .slice(0, listedMax);
}

const nameOf = ({ submittedBy, calculation }: Costed): string =>
  /^schedule (.+)$/.exec(submittedBy ?? "")?.[1] ?? calculation;

function withSame(runs: readonly Costed[]): Series["runs"] {
  let before: string | undefined;
  return runs.map((one) => {
    const { run, word, submittedAt, elapsedS, dollars, result: { sha256 } = {} } = one;
    const same = sha256 === undefined || before === undefined ? undefined : sha256 === before;
    before = sha256 ?? before;
    return { run, word, submittedAt, elapsedS, dollars, ...defined({ same }) };
  });
}
