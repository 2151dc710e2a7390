/**
 * Shares out ten partitions among all processes that run this: each takes the free ones, counts its visits in their
 * contents, and gives them back at the end.
 *
 *   node examples/leases.mjs [seconds, default 10]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { leases } from "leasefold/election";

const connection = process.env.DataStorage ?? "UseDevelopmentStorage=true";
const seconds = Number(process.argv[2] ?? 10);

const mine = leases({
  connection,
  on: (event) => event.kind === "lost" && console.log(`lost ${event.name}: ${event.cause} ${event.code}`),
});
for (let partition = 0; partition < 10; partition += 1) {
  const outcome = await mine.acquire(`example-partition-${partition}`);
  if (outcome.kind !== "acquired") continue;
  const content = await outcome.lease.update((now) => String(Number(now.text()) + 1));
  console.log(`holds partition ${partition}, visit ${content.text()}`);
}
console.log(`holds ${mine.held.size} of 10`);
await sleep(seconds * 1000);
// The work under the leases has ended; only now may they go to others.
await mine.close();
