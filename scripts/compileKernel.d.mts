/** See compileKernel.mjs. */
export function compileKernel(calculation: "primes" | "options"): Promise<Uint8Array>;
