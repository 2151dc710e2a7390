import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { z } from "zod";
import type { Client } from "../../client/client.ts";
import type { RunView } from "../../client/runView.ts";
import { billingClasses, type CallCounts, dollarsOf, totalCalls } from "../../model/calls.ts";
import type { Manifest } from "../../model/run.ts";
import type { Cli, Screen } from "../cli.ts";
import { count, dollars, duration } from "../render/amounts.ts";
import { paint } from "../render/text.ts";
import { saveResult } from "../saveBytes.ts";
import { publishedCounts } from "./calibrate.ts";
import type { KillPlan } from "./killPlan.ts";

/** How the demo went, as `--json` prints it. */
export interface DemoReport {
  readonly to: number;
  readonly primes: number;
  /** Absent where nobody has published a count that we know. */
  readonly published?: number;
  readonly correct?: boolean;
  readonly file: string;
  readonly manifestFile: string;
  readonly startUpS: number;
  readonly runS: number;
  /** From the first to the last line, the end of all processes not counted. */
  readonly totalS: number;
  readonly takeover?: { readonly from: string; readonly to: string; readonly seconds: number };
  readonly terms: readonly { readonly term: number; readonly holder: string }[];
  readonly packs: number;
  readonly sentAgain: number;
  /** Of leaders and workers. */
  readonly calls: CallCounts;
  /** Of the Functions host itself: polling, deleting and renewing messages. */
  readonly hostCalls: CallCounts;
  readonly dollars: number;
  readonly hostDollars: number;
}

export function reportOf(of: {
  readonly to: number;
  readonly view: RunView;
  readonly plan: KillPlan;
  readonly saved: SavedResult;
  readonly startMs: number;
  readonly hostCalls: CallCounts;
  readonly out: string;
}): DemoReport {
  const { to, view, plan, saved, hostCalls } = of;
  const published = publishedCounts.get(to);
  const { killed, takeover } = plan;
  return {
    ...{ to, primes: saved.primes, file: of.out, manifestFile: saved.manifestFile },
    ...(published === undefined ? {} : { published, correct: published === saved.primes }),
    startUpS: of.startMs / 1_000,
    runS: view.elapsedS,
    totalS: 0,
    ...(killed === undefined || takeover === undefined
      ? {}
      : { takeover: { from: killed.name, to: takeover.by, seconds: takeover.afterMs / 1_000 } }),
    terms: view.terms.map(({ term, holder }) => ({ term, holder })),
    packs: view.packs?.total ?? 0,
    sentAgain: view.packs?.again ?? 0,
    calls: view.calls,
    hostCalls,
    dollars: dollarsOf(view.calls),
    hostDollars: dollarsOf(hostCalls),
  };
}

/** For people, within 80 columns. */
export function reportLines(report: DemoReport, screen: Pick<Screen, "colour">): readonly string[] {
  const { takeover, terms, calls, hostCalls } = report;
  const rows: (readonly [string, string])[] = [
    ["file", `${report.file}, with ${report.manifestFile} beside it`],
    ["time", `${duration(report.runS)} for the run, ${duration(report.totalS)} in all, ${startUp(report)}`],
    ["led by", terms.map(({ term, holder }) => `${holder} (term ${term})`).join(", ")],
  ];
  if (takeover !== undefined) {
    rows.push(["takeover", `${takeover.to} for ${takeover.from} after ${duration(takeover.seconds)}`]);
  }
  rows.push(["packs", `${count(report.packs)}, ${count(report.sentAgain)} sent again`]);
  rows.push(["calls", `${totalOf(calls, report.dollars)} at list price`], ["", classesOf(calls)]);
  rows.push(
    ["host", `${totalOf(hostCalls, report.hostDollars)} for its own polling`],
    ["", classesOf(hostCalls)],
  );
  return ["", ...verdict(report, screen), "", ...rows.map(([name, text]) => row(screen, name, text))];
}

const row = (screen: Pick<Screen, "colour">, name: string, text: string): string =>
  `  ${paint(screen, "dim", name.padEnd(10))}${text}`;

const startUp = ({ startUpS }: DemoReport): string => `start-up ${duration(startUpS)}`;

function verdict(report: DemoReport, screen: Pick<Screen, "colour">): readonly string[] {
  const { primes, to, published, correct } = report;
  const found = `${count(primes)} primes up to ${count(to)}`;
  if (published === undefined) return [`  ${found} (no published count to check it against)`];
  return correct === true
    ? [`  ${paint(screen, "green", `✓ ${found}`)}, as published`]
    : [`  ${paint(screen, "red", `✗ ${found}`)}, but published are ${count(published)}`];
}

const totalOf = (calls: CallCounts, cost: number): string =>
  `${count(totalCalls(calls))} storage calls, about ${dollars(cost)}`;

const classesOf = (calls: CallCounts): string =>
  billingClasses
    .filter((one) => calls[one] > 0)
    .map((one) => `${one} ${count(calls[one])}`)
    .join(" · ");

export interface SavedResult {
  readonly primes: number;
  readonly manifestFile: string;
}

/** Downloads the result, checked against the manifest's hash, and writes the manifest beside it. */
export async function saveDemoResult(
  cli: Cli,
  client: Client,
  manifest: Manifest,
  out: string,
): Promise<SavedResult> {
  await mkdir(dirname(resolve(cli.folder, out)), { recursive: true });
  const path = await saveResult(cli, client, manifest, out);
  const extension = extname(path);
  const manifestPath = join(dirname(path), `${basename(path, extension)}.manifest.json`);
  await writeFile(manifestPath, `${JSON.stringify(manifest, null, 2)}\n`);
  const { primes } = z.looseObject({ primes: z.int() }).parse(JSON.parse(await readFile(path, "utf8")));
  return { primes, manifestFile: basename(manifestPath) };
}
