import type { Command } from "commander";
import { type PackOutcome, parseSample, type Verification, verify } from "../../client/questions/verify.ts";
import { InputError } from "../../model/errors.ts";
import type { Session } from "../cli.ts";
import { notEqual } from "../exitCodes.ts";
import { wholeOption } from "../options.ts";
import { count } from "../render/amounts.ts";
import { liveLine } from "../render/progress.ts";
import { table } from "../render/table.ts";
import { oneLine, paint } from "../render/text.ts";

/** `leasefold verify RUN`: computes a sample of a finished run again and compares. */
export function addVerify(program: Command, session: Session): void {
  program
    .command("verify")
    .description(
      "compute a random sample of a finished run's packs again and compare with its result's hashes",
    )
    .argument("<run>", "id of the run")
    .option("--sample <n>", "packs to compute again: a number, or a share such as 1%, which is the default")
    .option("--wait <s>", "give up after so many seconds without an answer", wholeOption)
    .action(async (run: string, options: { sample?: string; wait?: number }) => {
      const { cli } = session;
      if (options.wait !== undefined && options.wait < 1)
        throw new InputError("invalid", "bad-option", "--wait: give at least one second");
      const sample = options.sample === undefined ? undefined : parseSample(options.sample);
      const client = await session.client();
      const live = liveLine(cli.err, cli.clock);
      const found = await verify(client, run, {
        sample,
        waitMs: options.wait === undefined ? undefined : options.wait * 1_000,
        signal: cli.signal,
        onProgress: (answered, drawn) =>
          void live.show(`${count(answered)} of ${count(drawn)} packs computed again`, ""),
      }).finally(() => live.end());
      if (!found.allEqual) session.setExitCode(notEqual);
      if (session.json()) return await session.printJson(found);
      await tell(session, found);
    });
}

const words: Readonly<Record<PackOutcome, string>> = {
  equal: "equal",
  different: "different",
  "not-folded": "without a hash in the result",
  failed: "failed when computed again",
  unanswered: "not answered in time",
};

async function tell(session: Session, { run, result, packs, others }: Verification): Promise<void> {
  const { cli } = session;
  const bytes = result.equal
    ? `its bytes have the SHA-256 of its manifest, ${result.sha256.slice(0, 12)}…`
    : paint(cli.out, "red", "its bytes do not have the SHA-256 of its manifest");
  await session.print(`${run}: ${bytes}`);
  const outcomes = (Object.keys(words) as PackOutcome[]).filter((one) => packs[one] > 0);
  const said = outcomes.map((one) => `${count(packs[one])} ${words[one]}`).join(", ") || "none to compare";
  await session.print(`${run}: ${count(packs.drawn)} of ${count(packs.total)} packs computed again: ${said}`);
  if (packs.missing > 0)
    await session.note(`${count(packs.missing)} packs are gaps of the result; none was drawn`);
  if (others.length === 0) return;
  const columns = [
    { title: "PACK", right: true },
    { title: "CHUNKS" },
    { title: "WHAT" },
    { title: "ERROR", gives: true },
  ];
  const rows = others.map(({ pack, chunks, outcome, error }) => [
    String(pack),
    `${chunks.from}–${chunks.to - 1}`,
    words[outcome],
    oneLine(error?.message ?? ""),
  ]);
  await cli.out.write(table(cli.out, columns, rows));
}
