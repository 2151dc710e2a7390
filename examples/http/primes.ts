import { connect } from "leasefold/client";

/** Submits a run over HTTP, follows it and prints its result. `leasefold show url` and `leasefold show key` tell where. */
const { LEASEFOLD_URL: url = "", LEASEFOLD_KEY: key = "" } = process.env;
const leasefold = connect({ url, key });

// The same id with the same parameters is the same run, so that a program that is started again continues it.
const run = await leasefold.submit("primes", { to: 1e8 }, { id: "primes-8", tags: { team: "numbers" } });
for await (const { word, packs } of run.watch())
  console.error(`${run.id} ${word} ${packs === undefined ? "" : `${packs.done}/${packs.total}`}`);

const result = await run.result();
console.log(await result.text());
console.error(`SHA-256 ${result.sha256}, complete: ${result.complete}`);
