/**
 * How long a test waits for what should come, in ms. It only ends what never comes: no test decides by how fast the machine
 * is.
 */
export const patienceMs = 120_000;
