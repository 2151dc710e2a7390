import type { Command } from "commander";
import { sampleLimitMs } from "../../../src/engine/calculation/timeChunks.ts";
import type { RunEstimate } from "../../../src/engine/client/estimate/estimateRun.ts";
import { callsOf, type FileUse } from "../../../src/engine/client/estimate/fileUse.ts";
import type { CallCounts } from "../../../src/engine/model/calls.ts";
import { costText, overMaxCost, prefixesText } from "../../../src/engine/model/figures.ts";
import { limits } from "../../../src/engine/model/limits.ts";
import { pricesSource } from "../../../src/engine/model/prices.ts";
import { askedCalculation } from "../askedCalculation.ts";
import { adviceOnWaits } from "../check/laws/advice.ts";
import type { Session } from "../cli.ts";
import { calculationFailed } from "../exitCodes.ts";
import { readFreeOptions } from "../freeOptions.ts";
import { calculationCommand, dollarsOption, envOption, optionNames, wholeOption } from "../options.ts";
import { classesText, type Fact, factLines } from "../render/runDetails.ts";
import { bytes, count, countOf, duration, oneLine, paint } from "../render/text.ts";

interface Options {
  readonly param?: readonly string[];
  readonly packSize?: number;
  readonly workers?: number;
  readonly maxCost?: number;
}

/** `leasefold plan <calculation>`: size, duration and cost estimate of a run. Needs storage only if the calculation reads files. */
export function addPlan(program: Command, session: Session): void {
  calculationCommand(program, "plan", "name of a calculation, or the file of your own, such as ./mine.ts")
    .description("plan a run here and time a few chunks, to estimate its size, duration and cost")
    .addOption(envOption())
    .option("--pack-size <n>", "chunks per pack, instead of what is measured", wholeOption)
    .option(
      "--workers <n>",
      "packs computed at once (default: threads of local instances, or those that are live, or 20)",
      wholeOption,
    )
    .option("--max-cost <dollars>", "say whether the run would reach this cost", dollarsOption)
    .action(async (calculation: string, options: Options, command: Command) => {
      const { param, packSize, workers, maxCost } = options;
      const { params: rows, plan } = await askedCalculation(session, calculation);
      const params = readFreeOptions(command.args.slice(1), param, rows, optionNames(command));
      const planned = await plan({ params, packSize, workers, maxCost });
      if (planned.failed !== undefined) session.exitCode = calculationFailed;
      if (session.json()) return await session.printJson(planned);
      if (planned.failed !== undefined)
        await session.note(`a chunk that was tried failed: ${oneLine(planned.failed)}`);
      const { out } = session.cli;
      const head = oneLine(`${planned.calculation} ${JSON.stringify(planned.params)}`);
      await session.print(paint(out, "bold", head));
      for (const line of factLines(out, factsOf(planned, packSize), 10)) await session.print(line);
      if (planned.unmeasured === undefined)
        await session.note(
          `${pricesSource}, before free grants; not included: idle ticks, instances that are always ready, failed packs, ` +
            "and the host's own polls of empty queues",
        );
    });
}

function factsOf(run: RunEstimate, pinned: number | undefined): readonly Fact[] {
  if (run.unmeasured !== undefined) {
    return [
      ["chunks", count(run.chunks)],
      ["measured", `nothing: ${run.unmeasured}, so there is no estimate of time and cost`],
    ];
  }
  const { calls } = run;
  const over = overMaxCost(run);
  const about = run.chunkMs < sampleLimitMs ? "about" : "at least";
  return [
    ["chunks", `${count(run.chunks)}, each ${about} ${short(run.chunkMs)} on this machine`],
    ["packs", `${count(run.packs)} of ${count(run.packSize)}, each ${about} ${short(run.packMs)}`],
    ...waitFacts(run),
    ...(pinned !== undefined && run.packs > 1 && run.packMs < limits.packMsMin ? [shortPacks] : []),
    ["shards", count(run.shards)],
    ...stopFacts(run),
    ["compute", `${duration(run.computeS)} of one thread`],
    [
      "expected",
      `${duration(run.expectedS)} with ${countOf(run.workers, "pack")} at once (${run.workersFrom})`,
    ],
    ["calls", `${count(calls.billed)}: ${callsText(calls.total)}`],
    ["", `a pack: ${callsText(calls.perPack)}`],
    ["", `a minute of leading: ${callsText(calls.perMinute)}`],
    ...filesFacts(run),
    ["", `${calls.perChunk.toPrecision(2)} a chunk`],
    ["dollars", costText(run)],
    ...(over === undefined ? [] : [["", over] as const]),
    ["", `on instances of ${count(run.memoryMb)} MB that compute as fast as this machine`],
  ];
}

const shortPacks: Fact = [
  "",
  `packs under ${limits.packMsMin} ms mostly cost the calls of their messages; without --pack-size they are longer`,
];

/** Absent for a calculation whose chunks compute. */
function waitFacts({
  chunkMs,
  waits = 0,
  chunks,
}: Exclude<RunEstimate, { unmeasured: string }>): readonly Fact[] {
  const advice = adviceOnWaits({ chunkMs, waits, chunks });
  return advice === undefined ? [] : [["", advice]];
}

/** Absent for a calculation that does not ask whether it stops. */
function stopFacts({ prefixes = [], chunks }: RunEstimate): readonly Fact[] {
  if (prefixes.length === 0) return [];
  return [["stop", prefixesText(prefixes, chunks)]];
}

/** Absent for a calculation that lists and reads no files. */
function filesFacts({ files: { planning, computing } }: RunEstimate): readonly Fact[] {
  if (planning.list + planning.read === 0) return [];
  const text = (use: FileUse): string => `${callsText(callsOf(use)) || "none"} (${bytes(use.bytes)})`;
  return [["", `files: to plan ${text(planning)}; to compute about ${text(computing)}`]];
}

/** Without deletes of blobs, which are free. */
const callsText = (calls: CallCounts): string => classesText({ ...calls, delete: 0 });

/** Milliseconds keep their digits. */
const short = (ms: number): string => (ms < 1_000 ? `${Number(ms.toPrecision(2))} ms` : duration(ms / 1_000));
