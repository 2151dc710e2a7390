import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import * as z from "zod";
import { type Calculations, loadCalculations } from "../calculations/registry.ts";
import { findLocalFile } from "../local/localFile.ts";

/** The part of `.leasefold/local.json` that is about calculations; its files are absolute. */
const localSchema = z.object({ calculations: z.array(z.string()).default([]) });

/** Taken once, so that loads beside each other put back the same. */
const toOutput = process.stdout.write;

/**
 * The built-in calculations and the user's: the files that LEASEFOLD_CALCULATIONS names, and those that the
 * embedded instances of this folder were started with, so that a submit knows what they know.
 */
export async function knownCalculations(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<Calculations> {
  const files = await calculationFiles(env, folder);
  // What a file prints while it loads is not the answer of a command.
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return await loadCalculations(files);
  } finally {
    process.stdout.write = toOutput;
  }
}

/** The user's files among them, absolute. */
export async function calculationFiles(
  env: Readonly<Record<string, string | undefined>>,
  folder: string,
): Promise<readonly string[]> {
  const named = (env["LEASEFOLD_CALCULATIONS"] ?? "").split(",").map((file) => file.trim());
  const files = [...named.filter((file) => file !== ""), ...(await localFiles(folder))];
  return [...new Set(files.map((file) => resolve(folder, file)))];
}

async function localFiles(folder: string): Promise<readonly string[]> {
  const found = await findLocalFile(folder);
  if (found.kind !== "found") return [];
  const decoded = localSchema.safeParse(JSON.parse(await readFile(found.path, "utf8")));
  return decoded.success ? decoded.data.calculations : [];
}
