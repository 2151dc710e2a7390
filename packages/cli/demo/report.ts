import { readFile } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { Readable } from "node:stream";
import { z } from "zod";
import type { Client } from "../../../src/engine/client/client.ts";
import type { RunView } from "../../../src/engine/client/runView.ts";
import { dollarsOf, totalCalls } from "../../../src/engine/model/calls.ts";
import type { Manifest } from "../../../src/engine/model/run.ts";
import type { Cli } from "../cli.ts";
import { classesText, factLines, ledBy } from "../render/runDetails.ts";
import { count, dollars, duration, paint, type Screen } from "../render/text.ts";
import { saveBytes } from "../saveBytes.ts";
import { saveResult } from "../saveResult.ts";
import type { KillState } from "./kill.ts";
import { publishedCounts } from "./published.ts";

/** The demo's result and figures, as `--json` prints them. */
export type DemoReport = ReturnType<typeof demoReport>;

export function demoReport(
  found: {
    readonly to: number;
    readonly primes: number;
    readonly file: string;
    readonly manifestFile: string;
  },
  times: { readonly startUpS: number; readonly totalS: number },
  { view, kill: { killed, takeover } }: { readonly view: RunView; readonly kill: KillState },
) {
  const published = publishedCounts.get(found.to);
  return {
    ...found,
    ...(published === undefined ? {} : { published, correct: published === found.primes }),
    startUpS: times.startUpS,
    runS: view.elapsedS,
    totalS: times.totalS,
    ...(killed === undefined || takeover === undefined
      ? {}
      : { takeover: { from: killed.name, to: takeover.name, seconds: takeover.afterMs / 1_000 } }),
    terms: view.terms.map(({ term, holder }) => ({ term, holder })),
    packs: view.packs?.total ?? 0,
    resends: view.packs?.resent ?? 0,
    /** Of leaders and workers. */
    calls: view.calls,
    dollars: dollarsOf(view.calls),
  };
}

/** For people, within 80 columns. */
export function reportLines(report: DemoReport, screen: Pick<Screen, "color">): readonly string[] {
  const { runS, totalS, startUpS, takeover, calls } = report;
  const times = `${duration(runS)} for the run, ${duration(totalS)} in all, start-up ${duration(startUpS)}`;
  const facts: readonly (readonly [string, string])[] = [
    ["file", `${report.file}, with ${report.manifestFile} beside it`],
    ["time", times],
    ["led by", ledBy(report.terms)],
    ...(takeover === undefined
      ? []
      : [["takeover", `${takeover.to} for ${takeover.from} after ${duration(takeover.seconds)}`] as const]),
    ["packs", `${count(report.packs)}, ${count(report.resends)} resent`],
    ["calls", `${count(totalCalls(calls))} storage calls, about ${dollars(report.dollars)} at list price`],
    ["", classesText(calls, " · ")],
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

/** Downloads the result, checked against the manifest's hash, and writes the manifest beside it. */
export async function saveDemoResult(cli: Cli, client: Client, manifest: Manifest, out: string) {
  const path = await saveResult(cli, client, manifest, out);
  const manifestPath = join(dirname(path), `${basename(path, extname(path))}.manifest.json`);
  const text = Buffer.from(`${JSON.stringify(manifest, null, 2)}\n`);
  await saveBytes(cli, manifestPath, async () => Readable.from([text]));
  const { primes } = z.looseObject({ primes: z.int() }).parse(JSON.parse(await readFile(path, "utf8")));
  return { primes, manifestFile: basename(manifestPath) };
}
