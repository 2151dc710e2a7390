import type { Timeline } from "../../client/inspection/timeline.ts";
import type { MessageView } from "../../client/queues.ts";

/** Answers of the API that have no name in `src/client`. */

export interface Instance {
  readonly version: string;
  readonly instance: string;
  readonly readOnly: boolean;
}

export interface QueueMessages {
  readonly queue: string;
  readonly messages: readonly MessageView[];
}

/** How a leader acquired the lease. */
export type CameBy = NonNullable<Timeline["terms"][number]["cameBy"]>;
