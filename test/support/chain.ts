import { fileURLToPath } from "node:url";
import { runSerially } from "../../src/calculations/leasefold.ts";
import { loadCalculations } from "../../src/calculations/registry.ts";

/** The calculation of `test/fixtures`, as a user's file; instances are given it by its path. */
export const chainFile = fileURLToPath(new URL("../fixtures/chain.calculation.ts", import.meta.url));

/** What a process knows that was given the file. */
export const chainCalculations = await loadCalculations([chainFile]);
export const chain = chainCalculations.get("chain");

/** The bytes of the result as one loop over all chunks gives them, without packs, shards or storage. */
export async function serialChain(chunks: number): Promise<string> {
  const params = chain.params.parse({ chunks });
  const { body } = await runSerially(chain, params);
  return Buffer.from(body).toString();
}
