/**
 * Seconds that one thread takes to count primes, chunk by chunk as a run does, without storage and messages.
 * `node test/bench/sieve.ts [--json] [--to 1e9,1e10]`
 */
import { parseArgs } from "node:util";
import { noFiles } from "../../src/calculations/files.ts";
import { primes } from "../../src/calculations/primes.ts";

const { values } = parseArgs({
  options: { json: { type: "boolean", default: false }, to: { type: "string", default: "1e9,1e10" } },
});

const rows = values.to.split(",").map((text) => {
  const params = primes.params.parse({ to: text });
  const count = primes.plan(params, { files: noFiles }) as number;
  const startedMs = performance.now();
  let found = primes.zero(params);
  for (let index = 0; index < count; index++) {
    const part = primes.compute({ index, count, input: undefined, params, files: noFiles }) as number;
    found = primes.merge(found, part, params);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  return { to: params.to, primes: found, chunks: count, seconds: Number(seconds.toFixed(3)) };
});

if (values.json) console.log(JSON.stringify({ node: process.version, threads: 1, rows }, null, 2));
else console.table(rows);
