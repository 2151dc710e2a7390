import { primes } from "../../../src/calculations/primes.ts";
import { noFiles } from "../../../src/engine/calculation/files.ts";

/** What every peer computes: trivial chunks whose order counts, as of `test/fixtures/chain.calculation.ts`, or the sieve. */
export type Work =
  | { readonly kind: "chain"; readonly chunks: number }
  | { readonly kind: "sieve"; readonly to: number };

/** The chunks from `from` to `to`, the latter not included; what a peer sends as one message. */
export interface Task {
  readonly work: Work;
  readonly from: number;
  readonly to: number;
}

/** [times, plus] of a chain, [primes] of a sieve. JSON carries it to and from Python. */
export type Part = readonly number[];

const prime = 67_108_859;
const chained = ([a = 1, b = 0]: Part, [times = 1, plus = 0]: Part): Part => [
  (a * times) % prime,
  (b * times + plus) % prime,
];
const zero: Readonly<Record<Work["kind"], Part>> = { chain: [1, 0], sieve: [0] };
const merged = (kind: Work["kind"], a: Part, b: Part): Part =>
  kind === "chain" ? chained(a, b) : [(a[0] ?? 0) + (b[0] ?? 0)];

const sieveParams = (to: number) => primes.params.parse({ to });

export function chunksOf(work: Work): number {
  if (work.kind === "chain") return work.chunks;
  return primes.plan(sieveParams(work.to), { files: noFiles }) as number;
}

/** Tasks of `size` chunks each, the last one of what is left. */
export function tasksOf(work: Work, size: number): Task[] {
  const count = chunksOf(work);
  return Array.from({ length: Math.ceil(count / size) }, (_, task) => ({
    ...{ work, from: task * size, to: Math.min((task + 1) * size, count) },
  }));
}

/** Piscina's threads call it by its name. */
export function computeTask({ work, from, to }: Task): Part {
  let part = zero[work.kind];
  for (let index = from; index < to; index += 1)
    part = merged(
      work.kind,
      part,
      work.kind === "chain" ? [(2 * index + 3) % prime, index % prime] : sieved(work.to, index),
    );
  return part;
}

function sieved(to: number, index: number): Part {
  const params = sieveParams(to);
  return [primes.compute({ index, params } as Parameters<typeof primes.compute>[0]) as number];
}

/** The answer of all tasks, in their order. Throws where one has no part. */
export function foldParts(work: Work, parts: readonly (Part | undefined)[]): Part {
  return Array.from(parts).reduce<Part>((whole, part, task) => {
    if (part === undefined) throw new Error(`task ${task} has no part`);
    return merged(work.kind, whole, part);
  }, zero[work.kind]);
}
