/**
 * Seconds that one thread takes to count primes, in stretches of the length of a run's chunks, without storage and
 * messages: with the WebAssembly kernel, with its reference in JavaScript, and with `primesieve` if it is installed.
 * Each run is a process of its own and they take turns, so that a busy machine is unfair to none; the median of
 * `--runs` counts.
 * `node test/bench/sieve.ts [--json] [--to 1e9,1e10] [--runs 5]`
 */
import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";
import { numbersPerByte } from "../../src/calculations/primes/basePrimes.ts";
import { loadSieveKernel } from "../../src/calculations/primes/sieveKernel.ts";
import { blockBytes } from "../../src/calculations/primes/sieveMemory.ts";
import { countPrimes } from "../../src/calculations/primes.ts";
import { javaScriptSieve } from "../calculations/reference/sieve/javaScriptSieve.ts";
import { quantile } from "./quantile.ts";

interface Counted {
  readonly sieve: string;
  readonly primes: number;
  readonly seconds: number;
}

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    to: { type: "string", default: "1e9,1e10" },
    runs: { type: "string", default: "5" },
    /** In a process started from here: make one count with this kernel, and print it as JSON. */
    kernel: { type: "string" },
  },
});
const kernels = { WebAssembly: loadSieveKernel, JavaScript: javaScriptSieve };
type KernelName = keyof typeof kernels;
/** A chunk of a run has at least four blocks. */
const stride = 4 * blockBytes * numbersPerByte;

if (values.kernel !== undefined)
  console.log(JSON.stringify(countHere(Number(values.to), values.kernel as KernelName)));
else {
  const rows = values.to.split(",").flatMap((to) => compare(Number(to)));
  if (values.json) console.log(JSON.stringify({ node: process.version, threads: 1, rows }, null, 2));
  else console.table(rows);
}

function compare(to: number) {
  const sieves = [
    () => countInProcess(to, "WebAssembly"),
    () => countInProcess(to, "JavaScript"),
    () => primesieve(to),
  ];
  const counted = Array.from({ length: Number(values.runs) }, () => sieves.flatMap((count) => count() ?? []));
  const names = [...new Set(counted.flat().map(({ sieve }) => sieve))];
  const found = [...new Set(counted.flat().map(({ primes }) => primes))];
  if (found.length > 1)
    throw new Error(`the sieves disagree about the primes up to ${to}: ${found.join(", ")}`);
  const medianOf = (name: string): number =>
    quantile(
      counted.flatMap((run) => run.filter(({ sieve }) => sieve === name).map(({ seconds }) => seconds)),
      0.5,
    );
  const other = names.includes("primesieve") ? medianOf("primesieve") : undefined;
  return names.map((sieve) => {
    const seconds = medianOf(sieve);
    const ratio = other === undefined ? {} : { toPrimesieve: Number((seconds / other).toFixed(2)) };
    return { to, sieve, primes: found[0], seconds: Number(seconds.toFixed(3)), ...ratio };
  });
}

function countHere(to: number, name: KernelName): Counted {
  const kernel = kernels[name]();
  const startedMs = performance.now();
  let found = 0;
  for (let from = 0; from <= to; from += stride)
    found += countPrimes(kernel, from, Math.min(from + stride, to + 1));
  return { sieve: name, primes: found, seconds: (performance.now() - startedMs) / 1000 };
}

function countInProcess(to: number, name: KernelName): Counted {
  const args = [import.meta.filename, "--kernel", name, "--to", String(to)];
  const { stdout } = spawnSync(process.execPath, args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  return JSON.parse(stdout);
}

/** Undefined where it is not installed. Its own clock, like ours, does not count the start of the process. */
function primesieve(to: number): Counted | undefined {
  const { status, stdout } = spawnSync("primesieve", [String(to), "-t1", "--count", "--time"], {
    encoding: "utf8",
  });
  if (status !== 0) return undefined;
  const number = (name: string): number => Number(new RegExp(`^${name}: ([\\d.]+)`, "m").exec(stdout)?.[1]);
  return { sieve: "primesieve", primes: number("Primes"), seconds: number("Seconds") };
}
