/** See replaceFiles.mjs. */
export function replaceFiles(from: string, to: string): Promise<void>;
