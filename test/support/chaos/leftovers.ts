import type { Client } from "../../../src/engine/client/client.ts";
import { blobPages } from "../../../src/engine/client/containersAndQueues.ts";
import { parseClosed } from "../../../src/engine/model/closedRun.ts";
import { heartbeatBlobs, leaderBlob, queuesOf } from "../../../src/engine/model/names.ts";
import type { ListedBlob } from "../../../src/engine/storage/ports.ts";
import { leftByEveryRun } from "../../sim/engine/checks/leftovers.ts";

/** Everything that storage holds. */
export interface Walked {
  readonly blobs: readonly (Pick<ListedBlob, "name" | "lastModifiedMs"> & {
    readonly container: Container;
  })[];
  readonly queues: readonly {
    readonly queue: string;
    /** Those that are hidden, too. */
    readonly messages: number;
    readonly visible: number;
  }[];
}

const containers = ["coordination", "active", "runs", "results", "inputs"] as const;
type Container = (typeof containers)[number];

export async function walkStorage(client: Client): Promise<Walked> {
  const blobs: Walked["blobs"][number][] = [];
  for (const container of containers)
    for await (const page of blobPages(client, client.names[container], ""))
      for (const { name, lastModifiedMs } of page.blobs) blobs.push({ container, name, lastModifiedMs });
  const queues = queuesOf(client.names).map(async (queue) => {
    const stats = await client.storage.queues.stats(queue);
    const messages = stats.kind === "found" ? stats.approximateCount : 0;
    return { queue, messages, visible: (await client.storage.queues.peek(queue, 32)).length };
  });
  return { blobs, queues: await Promise.all(queues) };
}

export interface LeftOver {
  /** What docs/ARCHITECTURE.md does not let stay. */
  readonly undocumented: readonly string[];
  /** Partials of complete runs: their clean-up waits in a message that a dead process had received, or will not come. */
  readonly uncleaned: readonly string[];
  /** What a worker wrote after the result was there; the account's lifecycle rule takes it. */
  readonly late: readonly string[];
  /** Messages that nobody can see, which somebody received and did not delete. */
  readonly hidden: number;
  readonly visible: number;
  readonly visibleIn: readonly string[];
}

/** Judges what is there once all runs have ended. `complete` are the runs whose results have no gaps. */
export function judgeLeftovers({ blobs, queues }: Walked, complete: ReadonlySet<string>): LeftOver {
  const undocumented: string[] = [];
  const uncleaned: string[] = [];
  const late: string[] = [];
  const resultMs = new Map<string, number>();
  for (const { container, name, lastModifiedMs } of blobs)
    if (container === "results" && name.endsWith("/manifest.json"))
      resultMs.set(name.split("/")[0] as string, lastModifiedMs);
  for (const { container, name, lastModifiedMs } of blobs) {
    const [id = "", _uid, ...below] = name.split("/");
    const rest = below.join("/");
    if (staysIn[container].some((pattern) => pattern.test(name)) || parseClosed(name) !== undefined) continue;
    const isRuns = container === "runs" || container === "results";
    if (isRuns && resultMs.has(id) && leftByEveryRun.some((pattern) => pattern.test(rest))) continue;
    const isOutput = container === "runs" && /^(parts|nodes)\//.test(rest) && resultMs.has(id);
    const path = `${container}/${name}`;
    if (isOutput && !complete.has(id)) continue;
    // Times of storage are whole seconds.
    if (!isOutput) undocumented.push(path);
    else if (lastModifiedMs > (resultMs.get(id) ?? 0)) late.push(path);
    else uncleaned.push(path);
  }
  const sum = (of: (queue: Walked["queues"][number]) => number): number =>
    queues.reduce((total, queue) => total + of(queue), 0);
  const visible = sum((queue) => queue.visible);
  const visibleIn = queues.flatMap((one) => (one.visible > 0 ? one.queue : []));
  const hidden = sum(({ messages }) => messages) - visible;
  return { undocumented, uncleaned, late, hidden, visible, visibleIn };
}

/** Beside what runs leave. Heartbeats of processes that ended stay for 15 min, so that people see how they did. */
const staysIn: Readonly<Record<Container, readonly RegExp[]>> = {
  coordination: [new RegExp(`^${leaderBlob}$`), new RegExp(`^${heartbeatBlobs}`)],
  active: [],
  runs: [/^[^/]+\/spec\.json$/, /^_dropped\/[0-9a-f]{64}$/, /^_expiry$/],
  results: [],
  inputs: [],
};
