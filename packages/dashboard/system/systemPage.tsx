import type { JSX } from "preact";
import { LeaderPart } from "./leader.tsx";
import { QueuesPart } from "./queues.tsx";
import { WorkersPart } from "./workers.tsx";

/** What computes: who leads, who works at what, and what waits in the queues. */
export const SystemPage = ({ queue }: { readonly queue: string | undefined }): JSX.Element => (
  <>
    <div class="title-row">
      <h1 tabIndex={-1}>System</h1>
    </div>
    <div class="parts">
      <LeaderPart />
      <WorkersPart />
      <QueuesPart queue={queue} />
    </div>
  </>
);
