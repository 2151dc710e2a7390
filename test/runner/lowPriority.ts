import { setPriority } from "node:os";

/**
 * Loaded before each file that only computes: it takes the cores that the tests of real leases and processes leave, so
 * that those see no busier machine than without it.
 */
setPriority(10);
