import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, extname, join, resolve } from "node:path";
import { z } from "zod";
import type { Client } from "../../client/client.ts";
import type { Manifest } from "../../model/run.ts";
import type { Cli } from "../cli.ts";
import { saveResult } from "../saveResult.ts";

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
