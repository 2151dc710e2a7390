/** See compileKernel.mjs. */
export function compileKernel(calculation: "primes" | "options" | "exact"): Promise<Uint8Array>;
