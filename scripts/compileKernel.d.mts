/** See compileKernel.mjs. */
export function compileKernel(calculation: "primes" | "options" | "exact" | "aggregate"): Promise<Uint8Array>;
