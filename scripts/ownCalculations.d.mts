/** See ownCalculations.mjs. */
export function buildOwnCalculations(root: string, dist?: string): Promise<string[]>;
