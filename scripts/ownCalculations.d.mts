/** See ownCalculations.mjs. */
export function buildOwnCalculations(root: string): Promise<string[]>;
