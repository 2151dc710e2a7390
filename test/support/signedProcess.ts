import type { SignedProcess } from "../../src/worker/signs.ts";

/** What the sign of a test's process says of it. */
export const signedProcess = (instance = "one", threads = 2): SignedProcess => ({
  ...{ instance, threads, version: "1.2.3", codes: [] },
  memoryMb: () => 100,
});
