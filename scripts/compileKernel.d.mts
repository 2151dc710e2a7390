/** See compileKernel.mjs. */
export function compileKernel(): Promise<Uint8Array>;
