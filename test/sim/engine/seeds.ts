import { drawnSeed } from "../../support/drawnSeed.ts";

/** Worlds of one kind: seeds from `from` on. `npm test` plays the first `usual`, `npm run test:deep` `deep` of them from a drawn one. */
export interface Worlds {
  /** Completes "worlds in which …". */
  readonly title: string;
  readonly from: number;
  readonly usual: number;
  readonly deep: number;
}

/** The kinds lie so far apart. */
const seedsOfKind = 1_000_000;

/** From this seed on storage loses messages and blobs. */
export const lossyFrom = 2_000_000;
/** From this seed on packs are unlike one another, and runs and threads are many. */
export const unevenFrom = 3_000_000;
/** From this seed on runs may stop before their last chunk. */
export const stoppingFrom = 4_000_000;
/** From this seed on attempts are pauses apart, and code asks for later ones or ends its run. */
export const waitingFrom = 5_000_000;
/** From this seed on requests wait for runs, and lead them. */
export const awaitedFrom = 6_000_000;

export const kinds: readonly Worlds[] = [
  { title: "anything happens", from: 1, usual: 40, deep: 80 },
  {
    title: "storage loses messages and blobs, and somebody deletes what a run needs",
    ...{ from: lossyFrom, usual: 10, deep: 30 },
  },
  {
    title: "packs are unlike one another, on up to 200 threads in up to 20 runs",
    ...{ from: unevenFrom, usual: 6, deep: 10 },
  },
  { title: "runs may stop before their last chunk", from: stoppingFrom, usual: 12, deep: 20 },
  {
    title: "attempts wait, and code asks for later ones or ends its run",
    ...{ from: waitingFrom, usual: 12, deep: 30 },
  },
  { title: "requests wait for runs, and lead them", from: awaitedFrom, usual: 12, deep: 30 },
];
/** Worlds in which the code of instances changes have negative seeds. */
const changing = { usual: 20, deep: 30 };

/** The seeds that are played of a kind. */
export function seedsOf({ from, usual, deep }: Omit<Worlds, "title">): readonly number[] {
  const [first, count] =
    drawnSeed === undefined ? [from, usual] : [from + (drawnSeed % (seedsOfKind - deep)), deep];
  return Array.from({ length: count }, (_, index) => first + index);
}

export const changingSeeds = (): readonly number[] => seedsOf({ from: 1, ...changing }).map((seed) => -seed);

/** `npm test` plays this seed anyway. */
export const isPlayedByDefault = (seed: number): boolean =>
  seed < 0 ? -seed <= changing.usual : kinds.some(({ from, usual }) => seed >= from && seed < from + usual);
