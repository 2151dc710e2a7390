/**
 * Prints each term of an election as it begins. Needs no more than the right to read.
 *
 *   node examples/observe.mjs [name, default: example-count] [how many terms, default: for ever]
 */
import { observe } from "leasefold/election";

const connection = process.env.DataStorage ?? "UseDevelopmentStorage=true";
const name = process.argv[2] ?? "example-count";
let left = Number(process.argv[3] ?? Number.POSITIVE_INFINITY);

const stop = new AbortController();
process.once("SIGINT", () => stop.abort());

for await (const seen of observe({ connection, name }, { signal: stop.signal })) {
  const marks = [
    seen.leading ? "leads" : "led",
    seen.missed > 0 ? `${seen.missed} terms were missed` : "",
    seen.rolledBack ? "the record was rolled back" : "",
  ];
  const since = new Date(seen.sinceMs).toISOString();
  console.log(`term ${seen.term}: ${seen.holder} ${marks.filter(Boolean).join(", ")} since ${since}`);
  left -= 1;
  if (left <= 0) break;
}
