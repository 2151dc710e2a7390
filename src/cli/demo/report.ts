import { readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { Readable } from "node:stream";
import { z } from "zod";
import type { Client } from "../../client/client.ts";
import { type CallCounts, totalCalls } from "../../model/calls.ts";
import type { Manifest } from "../../model/run.ts";
import type { Cli } from "../cli.ts";
import { classesText, factLines, ledBy } from "../render/runDetails.ts";
import { count, dollars, duration, paint, type Screen } from "../render/text.ts";
import { saveBytes, saveResult } from "../saveBytes.ts";

/** The demo's result and figures, as `--json` prints them. */
export interface DemoReport {
  readonly to: number;
  readonly primes: number;
  /** Absent if no published count is known. */
  readonly published?: number;
  readonly correct?: boolean;
  readonly file: string;
  readonly manifestFile: string;
  readonly startUpS: number;
  readonly runS: number;
  /** Without the end of the processes. */
  readonly totalS: number;
  readonly takeover?: { readonly from: string; readonly to: string; readonly seconds: number };
  readonly terms: readonly { readonly term: number; readonly holder: string }[];
  readonly packs: number;
  readonly sentAgain: number;
  /** Calls of leaders and workers. */
  readonly calls: CallCounts;
  /** Calls of the Functions host itself: polling, deleting and renewing messages. */
  readonly hostCalls: CallCounts;
  readonly dollars: number;
  readonly hostDollars: number;
}

/** For people, within 80 columns. */
export function reportLines(report: DemoReport, screen: Pick<Screen, "color">): readonly string[] {
  const { runS, totalS, startUpS, takeover, calls, hostCalls } = report;
  const times = `${duration(runS)} for the run, ${duration(totalS)} in all, start-up ${duration(startUpS)}`;
  const facts: readonly (readonly [string, string])[] = [
    ["file", `${report.file}, with ${report.manifestFile} beside it`],
    ["time", times],
    ["led by", ledBy(report.terms)],
    ...(takeover === undefined
      ? []
      : [["takeover", `${takeover.to} for ${takeover.from} after ${duration(takeover.seconds)}`] as const]),
    ["packs", `${count(report.packs)}, ${count(report.sentAgain)} resent`],
    ["calls", `${totalText(calls, report.dollars)} at list price`],
    ["", classesText(calls, " · ")],
    ["host", `${totalText(hostCalls, report.hostDollars)} for its own polling`],
    ["", classesText(hostCalls, " · ")],
  ];
  return ["", verdict(report, screen), "", ...factLines(screen, facts, 10)];
}

function verdict({ primes, to, published, correct }: DemoReport, screen: Pick<Screen, "color">): string {
  const found = `${count(primes)} primes up to ${count(to)}`;
  if (published === undefined) return `  ${found} (no published count to check it against)`;
  return correct === true
    ? `  ${paint(screen, "green", `✓ ${found}`)}, as published`
    : `  ${paint(screen, "red", `✗ ${found}`)}, but published are ${count(published)}`;
}

const totalText = (calls: CallCounts, cost: number): string =>
  `${count(totalCalls(calls))} storage calls, about ${dollars(cost)}`;

/** Downloads the result, checked against the manifest's hash, and writes the manifest beside it. */
export async function saveDemoResult(
  cli: Cli,
  client: Client,
  manifest: Manifest,
  out: string,
): Promise<Pick<DemoReport, "primes" | "manifestFile">> {
  const path = await saveResult(cli, client, manifest, out);
  const manifestPath = join(dirname(path), `${basename(path, extname(path))}.manifest.json`);
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  await saveBytes(cli, manifestPath, async () => Readable.from([text]));
  const { primes } = z.looseObject({ primes: z.int() }).parse(JSON.parse(await readFile(path, "utf8")));
  return { primes, manifestFile: basename(manifestPath) };
}
