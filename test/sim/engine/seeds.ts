/** How many worlds `npm test` plays, and how many in which the code of instances changes. */
export const worlds = 200;
export const changingWorlds = 60;
/** From this seed on storage loses messages and blobs; so many of these worlds are played. */
export const lossyFrom = 2_000_000;
export const lossyWorlds = 30;
/** From this seed on packs are unlike one another, and runs and threads are many. */
export const unevenFrom = 3_000_000;
export const unevenWorlds = 25;
/** From this seed on runs may stop before their last chunk. */
export const stoppingFrom = 4_000_000;
export const stoppingWorlds = 40;
/** From this seed on attempts are pauses apart, and code asks for later ones or ends its run. */
export const waitingFrom = 5_000_000;
export const waitingWorlds = 40;

/** The seed is one of those that simulation.test.ts plays when it is asked for no others. */
export const isPlayedByDefault = (seed: number): boolean =>
  seed < 0
    ? -seed <= changingWorlds
    : playedFrom.some(([from, count]) => seed >= from && seed < from + count);

const playedFrom = [
  [1, worlds],
  [lossyFrom, lossyWorlds],
  [unevenFrom, unevenWorlds],
  [stoppingFrom, stoppingWorlds],
  [waitingFrom, waitingWorlds],
] as const;
