import { createHash } from "node:crypto";
import { CalculationError } from "../../model/errors.ts";
import type { FileFact, Files } from "../files.ts";

/** Failures told by name; the number tells of the others. */
const namedMax = 5;

/**
 * SHA-256 of each file, in hex and in their order. All of them are tried, so that the error names every path that
 * cannot be read, and not only the first.
 */
export async function hashFiles(facts: readonly FileFact[], files: Files): Promise<string[]> {
  const settled = await Promise.allSettled(facts.map((fact) => hashFile(fact, files)));
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
  const [first] = failures;
  if (first === undefined) return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const odd = failures.find((one) => !(one instanceof CalculationError));
  if (odd !== undefined || failures.length === 1) throw odd ?? first;
  const told = failures.slice(0, namedMax).map((one) => (one as CalculationError).message);
  const more = failures.length > namedMax ? `; and ${failures.length - namedMax} more` : "";
  const message = `${failures.length} files cannot be read: ${told.join("; ")}${more}`;
  throw new CalculationError((first as CalculationError).code, message);
}

/** One piece at a time, so a file of any size takes no more memory than two pieces. */
async function hashFile(fact: FileFact, files: Files): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of files.read(fact)) hash.update(piece);
  return hash.digest("hex");
}
