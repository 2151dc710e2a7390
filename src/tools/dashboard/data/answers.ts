import type { Timeline } from "../../../engine/client/inspection/timeline.ts";
import type { peekQueue } from "../../../engine/client/queues.ts";

/** Answers of the API that have no name in `src/engine/client`. */

export interface Instance {
  readonly version: string;
  readonly instance: string;
  readonly readOnly: boolean;
}

export type QueueMessages = Awaited<ReturnType<typeof peekQueue>>;

/** How a leader acquired the lease. */
export type CameBy = NonNullable<Timeline["terms"][number]["cameBy"]>;
