import type { ListedBlob } from "../../storage/ports.ts";

/** List pages that a loop may still read, over all runs. */
export interface PageBudget {
  left: number;
}

/** Takes up to so many pages out of the budget and says how many there were. */
export function takePages(budget: PageBudget, pages: number): number {
  const taken = Math.max(0, Math.min(pages, budget.left));
  budget.left -= taken;
  return taken;
}

/** A list within a budget: whoever calls has taken the first page out of it. */
export type List = (
  prefix: string,
  options: { readonly metadata: boolean; readonly firstPage?: boolean },
) => Promise<{ readonly blobs: readonly ListedBlob[]; readonly more: boolean }>;
