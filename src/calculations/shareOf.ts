import type { FinishContext } from "./contract.ts";

/** For a result that looks whole where it is not: how many chunks are in it, of how many; nothing where all are. */
export const shareOf = ({
  folded,
  count,
}: Pick<FinishContext<unknown>, "folded" | "count">): { chunks?: number; ofChunks?: number } =>
  folded === count ? {} : { chunks: folded, ofChunks: count };
