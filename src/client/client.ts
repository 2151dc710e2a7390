import type { Calculations } from "../calculations/registry.ts";
import type { Names } from "../model/names.ts";
import type { Clock, Random, Storage } from "../storage/ports.ts";

/**
 * What a person or program can do with runs, one verb per file; the HTTP functions and the CLI are two faces of
 * it. A client only writes specs, markers and wakes: it never touches the state, a partial or the lease.
 *
 * Not promised: that a command has taken effect when its call returns. The leader executes it and records the
 * answer in the state, which `status` shows.
 */
export interface Client {
  readonly storage: Storage;
  readonly names: Names;
  readonly clock: Clock;
  readonly random: Random;
  /** The built-in calculations and those of the user's files. */
  readonly calculations: Calculations;
}
