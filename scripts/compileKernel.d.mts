/** See compileKernel.mjs. */
export function compileKernel(calculation: "primes" | "exact"): Promise<Uint8Array>;
