/**
 * Counts on while it leads, and hands the count on to whoever leads next. Start it in two terminals, kill the one
 * that counts, and the other goes on from there. (`leasefold up` gives a storage to try it on, and `leasefold show connection`
 * prints what to set as `DataStorage`.)
 *
 *   node examples/lead.mjs [last number, default: for ever]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { lead } from "leasefold/election";

const connection = process.env.DataStorage ?? "UseDevelopmentStorage=true";
const last = Number(process.argv[2] ?? Number.POSITIVE_INFINITY);

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());
process.once("SIGTERM", () => stop.abort());

const result = await lead({ connection, name: "example-count", signal: stop.signal }, async (leader) => {
  console.log(`${leader.holder} leads in term ${leader.term} (${leader.cameBy})`);
  const state = await leader.openState();
  let count = Number(state.text());
  while (count < last && !leader.signal.aborted) {
    count += 1;
    // Refused by storage, not by a clock, once another leads.
    await state.write(String(count));
    leader.note({ count: String(count) });
    leader.progress();
    console.log(`${count} (${Math.round(leader.remainingMs() / 1000)} s confirmed)`);
    await sleep(100, undefined, { signal: leader.signal }).catch(() => {});
  }
  return count;
});
console.log(result.kind === "done" ? `done at ${result.value}` : `stopped: ${result.kind}`);
