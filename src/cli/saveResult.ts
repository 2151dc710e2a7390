import type { Client } from "../client/client.ts";
import { openResult } from "../client/result.ts";
import type { Manifest } from "../model/run.ts";
import type { Cli } from "./cli.ts";
import { printBytes, saveBytes } from "./saveBytes.ts";

/** Writes the result to a file, which appears only when its hash was right. Gives the file's full name. */
export const saveResult = (cli: Cli, client: Client, manifest: Manifest, file: string): Promise<string> =>
  saveBytes(cli, file, async () => (await openResult(client, manifest, { signal: cli.signal })).body);

/** Streams the result to standard output. */
export async function printResult(cli: Cli, client: Client, manifest: Manifest): Promise<void> {
  await printBytes(cli, (await openResult(client, manifest, { signal: cli.signal })).body);
}
